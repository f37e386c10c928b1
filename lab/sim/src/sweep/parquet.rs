//! The table of all runs as an Apache Parquet file: a column of one type for each figure.

use super::results::Table;
use super::row::Cell;
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::Result;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;
use std::io;
use std::sync::Arc;

/// What a column holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Integer,
    Float,
    Flag,
    Text,
}

impl Kind {
    /// The narrowest that has room for every cell.
    fn of<'c>(cells: impl Iterator<Item = &'c Cell>) -> Self {
        let kinds = cells.filter_map(|cell| match cell {
            Cell::Empty => None,
            Cell::Integer(_) => Some(Self::Integer),
            Cell::Float(_) => Some(Self::Float),
            Cell::Flag(_) => Some(Self::Flag),
            Cell::Text(_) => Some(Self::Text),
        });
        let wider = |one: Self, other: Self| match (one, other) {
            (one, other) if one == other => one,
            (Self::Integer | Self::Float, Self::Integer | Self::Float) => Self::Float,
            _ => Self::Text,
        };
        // A column without any figure is one of measures that were not asked for.
        kinds.reduce(wider).unwrap_or(Self::Float)
    }

    fn physical(self) -> Physical {
        match self {
            Self::Integer => Physical::INT64,
            Self::Float => Physical::DOUBLE,
            Self::Flag => Physical::BOOLEAN,
            Self::Text => Physical::BYTE_ARRAY,
        }
    }
}

/// The file's bytes. The same table has the same bytes.
pub(super) fn bytes(table: &Table) -> io::Result<Vec<u8>> {
    write(table).map_err(io::Error::other)
}

fn write(table: &Table) -> Result<Vec<u8>> {
    let column = |index: usize| table.rows.iter().map(move |row| &row[index]);
    let kinds: Vec<Kind> = (0..table.columns.len()).map(|index| Kind::of(column(index))).collect();
    let mut fields = Vec::new();
    for (name, kind) in table.columns.iter().zip(&kinds) {
        let text = (*kind == Kind::Text).then_some(LogicalType::String);
        let field = Type::primitive_type_builder(name, kind.physical())
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(text);
        fields.push(Arc::new(field.build()?));
    }
    let schema = Arc::new(Type::group_type_builder("runs").with_fields(fields).build()?);
    let properties = Arc::new(WriterProperties::builder().build());
    let mut file = SerializedFileWriter::new(Vec::new(), schema, properties)?;
    let mut group = file.next_row_group()?;
    for (index, kind) in kinds.iter().enumerate() {
        let cells = || column(index);
        match kind {
            Kind::Integer => put::<Int64Type>(&mut group, cells(), |cell| match cell {
                Cell::Integer(count) => Some(*count),
                _ => None,
            })?,
            Kind::Float => put::<DoubleType>(&mut group, cells(), Cell::number)?,
            Kind::Flag => put::<BoolType>(&mut group, cells(), |cell| match cell {
                Cell::Flag(flag) => Some(*flag),
                _ => None,
            })?,
            Kind::Text => put::<ByteArrayType>(&mut group, cells(), |cell| match cell {
                Cell::Empty => None,
                other => Some(ByteArray::from(other.to_string().into_bytes())),
            })?,
        }
    }
    group.close()?;
    file.into_inner()
}

fn put<'c, T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    cells: impl Iterator<Item = &'c Cell>,
    read: impl Fn(&Cell) -> Option<T::T>,
) -> Result<()> {
    let cells: Vec<Option<T::T>> = cells.map(read).collect();
    let present: Vec<i16> = cells.iter().map(|cell| i16::from(cell.is_some())).collect();
    let values: Vec<T::T> = cells.into_iter().flatten().collect();
    if let Some(mut column) = group.next_column()? {
        column.typed::<T>().write_batch(&values, Some(&present), None)?;
        column.close()?;
    }
    Ok(())
}
