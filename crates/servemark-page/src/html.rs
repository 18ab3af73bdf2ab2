//! Builds HTML; every text from outside is escaped where it enters.

use std::fmt::Write as _;

use servemark_core::printable_lines;

/// HTML that is being built.
#[derive(Debug, Default)]
pub(crate) struct Html(String);

impl Html {
    /// Appends markup of the page itself.
    pub(crate) fn raw(&mut self, markup: &str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// Appends text, escaped.
    pub(crate) fn text(&mut self, text: &str) -> &mut Self {
        self.0.push_str(&escaped(text));
        self
    }

    /// Appends an element that holds only text. `open` is its name with its attributes.
    pub(crate) fn element(&mut self, open: &str, text: &str) -> &mut Self {
        let name = open.split(' ').next().unwrap_or(open);
        // Writing to a string does not fail.
        let _ = writeln!(self.0, "<{open}>{}</{name}>", escaped(text));
        self
    }

    /// Appends a name and a value of a definition list.
    pub(crate) fn pair(&mut self, name: &str, value: &str) -> &mut Self {
        self.raw("<div>").element("dt", name).element("dd", value).raw("</div>\n")
    }

    /// Appends a table. The first cell of each row is its heading.
    pub(crate) fn table(
        &mut self,
        caption: &str,
        heads: &[String],
        rows: &[Vec<String>],
    ) -> &mut Self {
        self.raw("<div class=\"scroll\" tabindex=\"0\"><table>\n").element("caption", caption);
        self.raw("<thead><tr>");
        for (place, head) in heads.iter().enumerate() {
            self.element(
                if place == 0 { "th scope=\"col\" class=\"text\"" } else { "th scope=\"col\"" },
                head,
            );
        }
        self.raw("</tr></thead>\n<tbody>\n");
        for row in rows {
            self.raw("<tr>");
            for (place, cell) in row.iter().enumerate() {
                self.element(if place == 0 { "th scope=\"row\"" } else { "td" }, cell);
            }
            self.raw("</tr>\n");
        }
        self.raw("</tbody></table></div>\n")
    }

    /// Returns the HTML.
    pub(crate) fn finish(self) -> String {
        self.0
    }
}

/// Escapes text for HTML, in elements and in quoted attributes, and makes control characters
/// visible, those that reorder text included.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in printable_lines(text).chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            other => safe.push(other),
        }
    }
    safe
}

/// Returns a JSON document that can stand in a script element: no character of it can end the
/// element or begin a comment.
pub(crate) fn json_in_script(document: &serde_json::Value) -> String {
    document.to_string().replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_can_leave_its_element_or_attribute() {
        let hostile = "</dd><script>alert('1')</script> \" onload=x & \u{202e}\u{1b}[2J";
        let safe = escaped(hostile);
        assert!(!safe.contains(['<', '>', '"', '\'', '\u{202e}', '\u{1b}']), "{safe}");
        assert!(safe.starts_with("&lt;/dd&gt;&lt;script&gt;alert(&#39;1&#39;)"), "{safe}");
    }

    #[test]
    fn no_text_can_end_the_element_of_the_data() {
        let document = serde_json::json!({"words": "</script><!--<script>&lt;"});
        let text = json_in_script(&document);
        assert!(!text.contains(['<', '>', '&']), "{text}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), document);
    }
}
