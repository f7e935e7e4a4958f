package runtime

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Environ is the whole environment of a member: what its tenant gave, minus everything that pretends to choose devices,
// plus what the platform says about the slice. A tool in a slice often cannot ask the parent card, so the size of the
// slice is published here (modular/modular#6896).
func Environ(s Spec) []string {
	env := map[string]string{
		"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME": "/tmp",
	}
	for k, v := range s.Env {
		if !reserved(k) {
			env[k] = v
		}
	}
	uuids := make([]string, 0, len(s.Devices))
	memory := 0
	for i, d := range s.Devices {
		uuids = append(uuids, d.UUID)
		if i == 0 || d.MemoryMiB < memory {
			memory = d.MemoryMiB // the same for all in practice; the smallest is the one to plan by
		}
	}
	env["WEIR_INSTANCE"] = s.Instance
	env["WEIR_MEMBER"] = s.Member
	env["WEIR_GPU_COUNT"] = strconv.Itoa(len(s.Devices))
	env["WEIR_SLICE_MEMORY_MIB"] = strconv.Itoa(memory)
	env["CUDA_VISIBLE_DEVICES"] = strings.Join(uuids, ",")
	out := make([]string, 0, len(env))
	for _, k := range slices.Sorted(maps.Keys(env)) {
		out = append(out, k+"="+env[k])
	}
	return out
}

func reserved(key string) bool {
	return key == "" || strings.ContainsAny(key, "=\x00") ||
		strings.HasPrefix(key, "WEIR_") || strings.HasPrefix(key, "NVIDIA_") || strings.HasPrefix(key, "CUDA_VISIBLE_")
}
