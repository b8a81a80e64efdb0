//go:build !linux

package load

import (
	"context"
	"time"
)

func waitUntil(ctx context.Context, t time.Time) { waitTimer(ctx, t) }
