"""Tables: files of rows and named columns, the types of columns, and their encoding as the variables of a circuit."""

from explorer.learning.tables.columns import (
    KINDS as KINDS,
    BinomialColumn as BinomialColumn,
    CategoricalColumn as CategoricalColumn,
    Column as Column,
    GaussianColumn as GaussianColumn,
    columns_from_json as columns_from_json,
    mean_label as mean_label,
    row_words as row_words,
)
from explorer.learning.tables.inference import infer_columns as infer_columns
from explorer.learning.tables.reading import READERS as READERS, RawTable as RawTable, read_table as read_table
from explorer.learning.tables.table import (
    TableData as TableData,
    encode_rows as encode_rows,
    load_table as load_table,
    log_scales as log_scales,
    note_on_missing as note_on_missing,
    notes_on as notes_on,
)
