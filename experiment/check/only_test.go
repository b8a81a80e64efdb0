package check

// Names of checks that share their code with others: the code, and their number among its checks.
var shareCode = map[string]struct {
	code string
	nth  int
}{
	"errors": {"errors", 0}, "unfinished": {"errors", 1},
	"short": {"output_length", 0}, "output_length": {"output_length", 1},
	"client_bound": {"client_bound", 0}, "client_cpu": {"client_bound", 1}, "client_paused": {"client_bound", 2},
	"network": {"client_machine", 0}, "connections": {"client_machine", 1}, "stamps": {"client_machine", 2},
	"host_load":  {"client_machine", 3},
	"start_skew": {"workers", 1},
	"warmup":     {"unsteady", 0}, "unsteady": {"unsteady", 1},
	"prompt_length": {"prompts", 0}, "refused_prompts": {"prompts", 1}, "warm_prompts": {"prompts", 2},
	"repeated_prompts": {"prompts", 3},
	"tokens_per_event": {"buffered", 0}, "buffered": {"buffered", 1},
	"unanswered": {"reasoning", 0}, "unparsed_reasoning": {"reasoning", 1},
	"server_restarted": {"server_stalled", 0}, "server_stalled": {"server_stalled", 1},
	"not_idle": {"shared_server", 0}, "shared_server": {"shared_server", 1}, "gpu_processes": {"shared_server", 2},
}

// only runs f with one check alone, and its code.
func only(name string, f func(code string)) {
	all := checks
	defer func() { checks = all }()
	share, shares := shareCode[name]
	if !shares {
		share.code = name
	}
	nth := 0
	for i, c := range all {
		if c.code != share.code {
			continue
		}
		if nth == share.nth {
			checks = all[i : i+1]
			f(share.code)
			return
		}
		nth++
	}
	panic("no check " + name)
}
