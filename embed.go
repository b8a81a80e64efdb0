// Package bench is the root of the module. It holds nothing but the model
// table, because go:embed can't reach above its own folder and the table
// belongs where a user finds it first.
package bench

import _ "embed"

// ModelConfigs is model_configs.json as it was at the build: what each model
// weighs per token and per step. roofline.ParseModels reads it.
//
//go:embed model_configs.json
var ModelConfigs []byte
