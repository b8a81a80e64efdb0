package record

import "unsafe"

// AppendJSON appends the record as encoding/json writes it, several times as fast: the load runs in the same process.
func (r *Record) AppendJSON(dst []byte) []byte {
	return appendFields(dst, recordFields, unsafe.Pointer(r))
}
