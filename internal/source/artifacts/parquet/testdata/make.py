"""Writes the sample files beside it: python3 make.py, with pyarrow installed."""
import decimal
import os

import pyarrow as pa
import pyarrow.parquet as pq

os.chdir(os.path.dirname(os.path.abspath(__file__)))
n = 50
table = pa.table({
    "text": [f"sample {i}" for i in range(n)],
    "label": pa.array([None if i == 7 else i % 5 for i in range(n)], pa.int64()),
    "leak": pa.array([None if i == 7 else str(i % 5) for i in range(n)]),
    "small": pa.array([i % 256 for i in range(n)], pa.uint8()),
    "score": pa.array([i / 4 for i in range(n)], pa.float32()),
    "exact": pa.array([decimal.Decimal(i).scaleb(-2) for i in range(n)], pa.decimal128(9, 2)),
    "good": [i % 3 == 0 for i in range(n)],
    "meta": [{"id": i, "tag": None if i % 2 else "even"} for i in range(n)],
    "ids": [[i, i + 1] for i in range(n)],
    "kind": pa.array(["a" if i % 2 else "b" for i in range(n)]).dictionary_encode(),
})
flat = table.select(["text", "label", "leak", "good"])
pq.write_table(table, "all.parquet", row_group_size=20)  # snappy, dictionaries
pq.write_table(flat, "plain.parquet", compression="none", use_dictionary=False)
pq.write_table(flat, "zstd.parquet", compression="zstd", data_page_version="2.0", version="2.6")
pq.write_table(flat, "gzip.parquet", compression="gzip", data_page_size=64)
pq.write_table(flat, "brotli.parquet", compression="brotli")
pq.write_table(flat, "delta.parquet", use_dictionary=False, column_encoding={"label": "DELTA_BINARY_PACKED", "text": "DELTA_BYTE_ARRAY", "leak": "PLAIN", "good": "PLAIN"})
required = pa.schema([pa.field("label", pa.int32(), nullable=False), pa.field("text", pa.string(), nullable=False)])
pq.write_table(pa.table({"label": [0, 1, 9] * 4, "text": ["x"] * 12}, schema=required), "required.parquet")
