// Package bench is the root of the module. It holds nothing but files that belong elsewhere, or where a user finds
// them first: go:embed can't reach above its own folder.
package bench

import "embed"

// ModelConfigs is model_configs.json as it was at the build: what each model
// weighs per token and per step. roofline.ParseModels reads it.
//
//go:embed model_configs.json
var ModelConfigs []byte

// Matrices is the folder matrices as it was at the build, with the samples that they read. bench init writes it.
//
//go:embed matrices
var Matrices embed.FS
