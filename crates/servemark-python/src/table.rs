//! Tables of a run log in Arrow's format.

use std::sync::Arc;

use arrow_array::ffi::FFI_ArrowSchema;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, RecordBatchIterator, StringArray,
};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use servemark::report::columns::{Column, ColumnKind, TableColumns};

use crate::error;

/// A table in Arrow's format, as one batch. Libraries take it without a copy, by its method
/// `__arrow_c_stream__`: `pyarrow.table(t)`, `pandas.DataFrame.from_arrow(t)`, `polars.from_arrow(t)`.
#[pyclass(module = "servemark", frozen)]
#[derive(Clone, Debug)]
pub(crate) struct Table {
    batch: RecordBatch,
}

impl Table {
    /// Creates a table of columns in the order of their names.
    pub(crate) fn new(names: TableColumns, columns: Vec<Column>) -> Result<Self, ArrowError> {
        let fields =
            names.columns.iter().map(|(name, kind)| Field::new(*name, of_kind(*kind), true));
        let schema = Schema::new(fields.collect::<Vec<_>>());
        let columns = columns.into_iter().map(array).collect();
        Ok(Self { batch: RecordBatch::try_new(Arc::new(schema), columns)? })
    }
}

#[pymethods]
impl Table {
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.batch.schema_ref().fields().iter().map(|field| field.name().clone()).collect()
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    fn __repr__(&self) -> String {
        format!("<servemark.Table of {} rows: {}>", self.__len__(), self.column_names().join(", "))
    }

    fn __arrow_c_schema__<'py>(&self, python: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.batch.schema_ref().as_ref());
        let schema = schema.map_err(|error| error::of_input(&error))?;
        PyCapsule::new_with_value(python, schema, c"arrow_schema")
    }

    /// Arrow lets a producer ignore the requested schema.
    #[pyo3(signature = (_requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        python: Python<'py>,
        _requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], self.batch.schema());
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(python, stream, c"arrow_array_stream")
    }
}

fn of_kind(kind: ColumnKind) -> DataType {
    match kind {
        ColumnKind::Flag => DataType::Boolean,
        ColumnKind::Float => DataType::Float64,
        ColumnKind::Text => DataType::Utf8,
        ColumnKind::Whole => DataType::Int64,
    }
}

fn array(column: Column) -> ArrayRef {
    match column {
        Column::Flag(values) => Arc::new(BooleanArray::from(values)),
        Column::Float(values) => Arc::new(Float64Array::from(values)),
        Column::Text(values) => Arc::new(StringArray::from(values)),
        Column::Whole(values) => Arc::new(Int64Array::from(values)),
    }
}
