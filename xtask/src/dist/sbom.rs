//! The list of the crates in the program (SBOM), in version 1.5 of the format
//! `CycloneDX`.

use serde_json::{Value, json};

use super::PROGRAM;
use super::shipped::{Crate, Shipped};

/// Returns the document. It has neither a date nor a serial number: a commit gives the same one at
/// any time.
pub(super) fn document(shipped: &Shipped) -> Value {
    let mut program = component(&shipped.program, "application");
    program["name"] = PROGRAM.into();
    let all = [&shipped.program].into_iter().chain(&shipped.crates);
    json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": program},
        "components": shipped.crates.iter().map(|one| component(one, "library")).collect::<Vec<_>>(),
        "dependencies": all.map(needs).collect::<Vec<_>>(),
    })
}

fn component(shipped: &Crate, kind: &str) -> Value {
    let url = url(&shipped.name, &shipped.version);
    let mut component = json!({
        "type": kind,
        "bom-ref": url,
        "name": shipped.name,
        "version": shipped.version,
        "purl": url,
        "licenses": [{"expression": shipped.licence()}],
    });
    if let Some(checksum) = &shipped.checksum {
        component["hashes"] = json!([{"alg": "SHA-256", "content": checksum}]);
    }
    component
}

fn needs(shipped: &Crate) -> Value {
    let needs = shipped.needs.iter().map(|(name, version)| url(name, version));
    json!({"ref": url(&shipped.name, &shipped.version), "dependsOn": needs.collect::<Vec<_>>()})
}

/// Package URL of a crate.
fn url(name: &str, version: &str) -> String {
    format!("pkg:cargo/{name}@{}", version.replace('+', "%2B"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_crate_is_a_component_with_its_needs() {
        let manifest = json!({"license": "MIT"});
        let make = |name: &str, needs| Crate {
            name: name.to_owned(),
            version: "1.0.0+b".to_owned(),
            manifest: manifest.clone(),
            checksum: (name == "a").then(|| "ff".to_owned()),
            needs,
        };
        let need = ("a".to_owned(), "1.0.0+b".to_owned());
        let shipped =
            Shipped { program: make("servemark", vec![need]), crates: vec![make("a", vec![])] };
        let document = document(&shipped);
        assert_eq!(document["metadata"]["component"]["name"], "servemark");
        let expected = json!([{
            "type": "library", "bom-ref": "pkg:cargo/a@1.0.0%2Bb", "name": "a", "version": "1.0.0+b",
            "purl": "pkg:cargo/a@1.0.0%2Bb", "licenses": [{"expression": "MIT"}],
            "hashes": [{"alg": "SHA-256", "content": "ff"}],
        }]);
        assert_eq!(document["components"], expected);
        let expected = json!([
            {"ref": "pkg:cargo/servemark@1.0.0%2Bb", "dependsOn": ["pkg:cargo/a@1.0.0%2Bb"]},
            {"ref": "pkg:cargo/a@1.0.0%2Bb", "dependsOn": []},
        ]);
        assert_eq!(document["dependencies"], expected);
    }
}
