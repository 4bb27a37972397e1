package tensorboard

import (
	"math"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
)

// hparam is one hyperparameter, its value as Python would spell it.
type hparam struct{ key, value string }

// hparams are the hyperparameters that a value's metadata carries: the plugin
// "hparams" keeps them in the content of its first summary.
func hparams(meta []byte) (out []hparam) {
	sub := func(m []byte, want protowire.Number) (found []byte) {
		fields(m, func(num protowire.Number, _ uint64, b []byte) {
			if num == want {
				found = b
			}
		})
		return found
	}
	plugin := sub(meta, 1)
	if string(sub(plugin, 1)) != "hparams" {
		return nil
	}
	start := sub(sub(plugin, 2), 3) // session_start_info
	fields(start, func(num protowire.Number, _ uint64, entry []byte) {
		if num != 1 {
			return
		}
		if v, ok := jsonValue(sub(entry, 2)); ok {
			out = append(out, hparam{string(sub(entry, 1)), v})
		}
	})
	return out
}

// jsonValue spells a google.protobuf.Value that is no list or object.
func jsonValue(m []byte) (text string, ok bool) {
	fields(m, func(num protowire.Number, v uint64, b []byte) {
		switch num {
		case 2:
			text, ok = strconv.FormatFloat(math.Float64frombits(v), 'g', -1, 64), true
		case 3:
			text, ok = string(b), true
		case 4:
			text, ok = strconv.FormatBool(v != 0), true
		}
	})
	return text, ok
}
