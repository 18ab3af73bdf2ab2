//! Asks a type for its form through its implementation of `Deserialize`: which keys it has and what
//! kind of value each takes. The declarations of the types are therefore the only place where the
//! names stand.

use std::cell::RefCell;

use serde::Deserialize;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error as _, Expected, IntoDeserializer, MapAccess,
    SeqAccess, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::Error;

/// Form of a value.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Form {
    /// Any value; the text is serde's description of what is expected.
    Any(String),
    Boolean,
    Integer,
    Number,
    Text,
    List,
    /// An object with keys that the type does not name.
    Map,
    /// An object with these keys.
    Struct(&'static [&'static str]),
    /// One of these variants: a text, or an object with the variant as its only key.
    Enum(&'static [&'static str]),
    /// A variant without a value.
    Unit,
}

/// A step from a value to one inside it.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Field(&'static str),
    Item,
    Variant(&'static str),
}

/// A form, and whether the value may be absent or null.
pub(super) type Traced = (Form, bool);

/// Returns the form of the value at a path in a type; `None` if nothing is there.
pub(super) fn form_at<T: for<'de> Deserialize<'de>>(path: &[Step]) -> Option<Traced> {
    let found = RefCell::new(Trace::default());
    let _ = T::deserialize(Focus { path, found: &found });
    let Trace { form, is_optional } = found.into_inner();
    Some((form?, is_optional))
}

#[derive(Default)]
struct Trace {
    form: Option<Form>,
    is_optional: bool,
}

/// A deserializer that follows a path, notes the form of what is at its end, and fails there. Its
/// error is that of JSON, so that what reads enums with a tag is compiled once for both.
#[derive(Clone, Copy)]
struct Focus<'a> {
    path: &'a [Step],
    found: &'a RefCell<Trace>,
}

impl<'a> Focus<'a> {
    /// Notes the form of what is here if the path ends here, and stops the deserialization.
    fn stop(self, form: Form) -> Error {
        if self.path.is_empty() {
            self.found.borrow_mut().form.get_or_insert(form);
        }
        Error::custom("the form is known")
    }

    /// Returns the first step and the rest of the path.
    fn split(self) -> Option<(&'a Step, Self)> {
        let (first, path) = self.path.split_first()?;
        Some((first, Self { path, ..self }))
    }
}

macro_rules! scalars {
    ($($form:ident: $($method:ident)+;)+) => {
        $($(fn $method<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
            Err(self.stop(Form::$form))
        })+)+
    };
}

impl<'de> Deserializer<'de> for Focus<'_> {
    type Error = Error;

    scalars! {
        Boolean: deserialize_bool;
        Integer: deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_u8
                 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_i128 deserialize_u128;
        Number: deserialize_f32 deserialize_f64;
        Text: deserialize_char deserialize_str deserialize_string deserialize_bytes
              deserialize_byte_buf;
        Map: deserialize_map;
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let expected: &dyn Expected = &visitor;
        Err(self.stop(Form::Any(expected.to_string())))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.path.is_empty() {
            self.found.borrow_mut().is_optional = true;
        }
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.split() {
            Some((Step::Item, rest)) => visitor.visit_seq(Inside(rest)),
            _ => Err(self.stop(Form::List)),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.split() {
            Some((Step::Field(name), rest)) => visitor.visit_map(OneField(name, rest)),
            _ => Err(self.stop(Form::Struct(fields))),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.split() {
            Some((Step::Variant(name), rest)) => visitor.visit_enum(OneVariant(name, rest)),
            _ => Err(self.stop(Form::Enum(variants))),
        }
    }

    forward_to_deserialize_any! { unit unit_struct identifier ignored_any }
}

/// A list of one item.
struct Inside<'a>(Focus<'a>);

impl<'de> SeqAccess<'de> for Inside<'_> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Error> {
        seed.deserialize(self.0).map(Some)
    }
}

/// An object with one key.
struct OneField<'a>(&'static str, Focus<'a>);

impl<'de> MapAccess<'de> for OneField<'_> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Error> {
        seed.deserialize(self.0.into_deserializer()).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        seed.deserialize(self.1)
    }
}

/// A variant of an enum.
struct OneVariant<'a>(&'static str, Focus<'a>);

impl<'a, 'de> EnumAccess<'de> for OneVariant<'a> {
    type Error = Error;
    type Variant = Focus<'a>;

    fn variant_seed<V: DeserializeSeed<'de>>(
        self,
        seed: V,
    ) -> Result<(V::Value, Focus<'a>), Error> {
        Ok((seed.deserialize(self.0.into_deserializer())?, self.1))
    }
}

impl<'de> VariantAccess<'de> for Focus<'_> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        Err(self.stop(Form::Unit))
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Error> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_struct("", fields, visitor)
    }
}
