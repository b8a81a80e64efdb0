package roofline

import (
	"slices"
	"strings"
)

// With adds a user's own entries before those of the table. A name in both means the user's entry.
func (m Models) With(own Models) Models {
	out := slices.Clone(own)
	for _, theirs := range m {
		var taken bool
		theirs.Aliases, taken = unclaimed(theirs.ID, theirs.Aliases, len(own), func(i int) entry { return entry{own[i].ID, own[i].Aliases, nil} })
		if !taken {
			out = append(out, theirs)
		}
	}
	return out
}

// With adds a user's own devices in the same way; their efficiency, if there is one, replaces the table's.
func (h Hardware) With(own Hardware) Hardware {
	out := Hardware{Efficiency: h.Efficiency, Devices: slices.Clone(own.Devices)}
	if len(own.Efficiency.ByGPUs) > 0 {
		out.Efficiency = own.Efficiency
	}
	for _, theirs := range h.Devices {
		var taken bool
		theirs.Aliases, taken = unclaimed(theirs.ID, theirs.Aliases, len(own.Devices), func(i int) entry {
			return entry{own.Devices[i].ID, own.Devices[i].Aliases, nil}
		})
		if !taken {
			out.Devices = append(out.Devices, theirs)
		}
	}
	return out
}

// unclaimed are the aliases that no own entry has; taken reports whether an own entry has the ID.
func unclaimed(id string, aliases []string, n int, own func(int) entry) (left []string, taken bool) {
	claimed := func(name string) bool {
		return len(hits(n, own, func(known string) bool { return strings.EqualFold(known, name) })) > 0
	}
	return slices.DeleteFunc(slices.Clone(aliases), claimed), claimed(id)
}
