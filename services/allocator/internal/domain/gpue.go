package domain

// weights says how much of an H100 a whole card of each model is, in millionths. Limits,
// fair shares and fragmentation are counted in it; prices are not.
var weights = map[string]int64{
	"a10-24gb":                    200_000,
	"a100-40gb":                   500_000,
	"a100-80gb":                   600_000,
	"a30-24gb":                    250_000,
	"b200-180gb":                  2_000_000,
	"b300-269gb":                  2_400_000,
	"gb200-186gb":                 2_200_000,
	"gb300-278gb":                 2_600_000,
	"gh200-144gb":                 1_200_000,
	"gh200-96gb":                  1_050_000,
	"h100-80gb":                   1_000_000,
	"h100-80gb-pcie":              800_000,
	"h100-94gb":                   1_050_000,
	"h100-94gb-nvl":               950_000,
	"h20-96gb":                    500_000,
	"h200-141gb":                  1_200_000,
	"l4-24gb":                     150_000,
	"l40s-48gb":                   400_000,
	"p100-16gb":                   60_000,
	"rtx-4090-24gb":               350_000,
	"rtx-pro-5000-blackwell-48gb": 450_000,
	"rtx-pro-6000-96gb":           700_000,
	"t4-16gb":                     80_000,
	"v100-16gb":                   150_000,
	"v100-32gb":                   180_000,
}

// Weight is the GPU-equivalents of a whole card, in millionths. A model nobody weighed
// counts as a whole H100, so that it is never cheaper in limits than it should be.
func Weight(model string) int64 {
	if w, ok := weights[model]; ok {
		return w
	}
	return 1_000_000
}

// gpueMicro is max(memory share, SM share) × weight in millionths, rounded up.
func gpueMicro(model string, memory, ofMemory int64, sms, ofSMs int) int64 {
	w := Weight(model)
	share := ceilDiv(w*memory, ofMemory)
	if bySM := ceilDiv(w*int64(sms), int64(ofSMs)); bySM > share {
		share = bySM
	}
	return max(1, min(share, w))
}

func ceilDiv(a, b int64) int64 {
	if b <= 0 {
		return 0
	}
	return (a + b - 1) / b
}
