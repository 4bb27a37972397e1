package logformat

import "slices"

// role is what a key counts.
type role uint8

const (
	notCounter role = iota
	countsSteps
	countsGlobal // says itself that it is the global step
	countsBatches
	countsEpochs
	plansSteps
	plansEpochs
	plansBatches // batches per epoch
	plansTotal   // "total", which is one only beside a step
	plansSamples
	plansBatchSize
	countsOther // samples, tokens, seconds: neither step nor metric
)

// counters are the spellings of counters, folded as names are.
var counters = map[string]role{
	"step": countsSteps, "steps": countsSteps, "iter": countsSteps, "iters": countsSteps, "iteration": countsSteps,
	"iterations": countsSteps, "it": countsSteps, "itr": countsSteps, "update": countsSteps, "updates": countsSteps,
	"train_step": countsSteps, "training_step": countsSteps, "train_iter": countsSteps, "training_iteration": countsSteps,
	"current_step": countsSteps, "cur_step": countsSteps, "current_steps": countsSteps, "current_iteration": countsSteps,
	"train_steps": plansSteps, "n_iter": countsSteps, "completed_step": countsSteps, "train_iteration": countsSteps,
	"step_num": countsSteps, "iter_num": countsSteps, "train_step_num": countsSteps, "opt_step": countsSteps, "_step": countsSteps,
	"current_iter": countsSteps, "optim_step": countsSteps, "optimizer_step": countsSteps, "optimizer_steps": countsSteps,
	"global_step": countsGlobal, "globalstep": countsGlobal, "global_steps": countsGlobal, "trainer_global_step": countsGlobal,
	"total_timesteps": countsGlobal, "total_steps": countsGlobal, "num_updates": countsGlobal, "timesteps_total": countsGlobal,
	"timesteps": countsGlobal, "total_step": countsGlobal, "training_global_step": countsGlobal, "num_env_steps_sampled": countsGlobal,
	"global_step_max_steps": countsGlobal, "total_iter": countsGlobal, "total_it": countsGlobal, "global_iter": countsGlobal,
	"env_steps": countsGlobal, "num_timesteps": countsGlobal, "global_iteration": countsGlobal, "total_iters": countsGlobal,
	"train_num_updates": countsGlobal, "episode": countsSteps, "iter(train)": countsSteps, "epoch(train)": countsEpochs,
	"iter(val)": countsSteps, "epoch(val)": countsEpochs, "iter(test)": countsSteps, "epoch(test)": countsEpochs,
	"num_iter": countsSteps, "total_train_step": countsGlobal,
	"batch": countsBatches, "batches": countsBatches, "batch_idx": countsBatches, "minibatch": countsBatches,
	"mini_batch": countsBatches, "micro_step": countsBatches, "mb": countsBatches, "batch_i": countsBatches,
	"epoch": countsEpochs, "ep": countsEpochs, "tick": countsSteps, "cur_epoch": countsEpochs, "current_epoch": countsEpochs,
	"train_epoch": countsEpochs, "training_epoch": countsEpochs, "epochs": plansEpochs, "train_epochs": plansEpochs, "trainer_epoch": countsEpochs,
	"epoch_num": countsEpochs,
	"max_steps": plansSteps, "max_iters": plansSteps, "max_iter": plansSteps, "train_iters": plansSteps,
	"max_train_steps": plansSteps, "total_optimization_steps": plansSteps, "num_train_steps": plansSteps,
	"num_training_steps": plansSteps, "total_training_steps": plansSteps, "max_update": plansSteps, "max_updates": plansSteps,
	"total_train_steps": plansSteps, "num_steps": plansSteps, "training_steps": plansSteps, "num_iterations": plansSteps,
	"max_iterations": plansSteps, "max_steps_total": plansSteps, "total_iterations": plansSteps, "n_steps_total": plansSteps, "num_iters": plansSteps,
	"trainer_max_steps": plansSteps, "max_training_steps": plansSteps, "number_of_steps": plansSteps, "n_batch": plansBatches, "max_num_steps": plansSteps, "learning_iteration": countsSteps, "n_total_steps": plansSteps,
	"optimization_steps": plansSteps, "max_epochs": plansEpochs, "num_epochs": plansEpochs, "num_train_epochs": plansEpochs, "n_epochs": plansEpochs,
	"max_epoch": plansEpochs, "total_epochs": plansEpochs, "num_epoch": plansEpochs, "nb_epochs": plansEpochs, "trainer_max_epochs": plansEpochs,
	"steps_per_epoch": plansBatches, "iters_per_epoch": plansBatches, "batches_per_epoch": plansBatches,
	"num_batches_per_epoch": plansBatches, "updates_per_epoch": plansBatches, "iterations_per_epoch": plansBatches, "num_batches_each_epoch": plansBatches, "num_batches": plansBatches,
	"total": plansTotal, "of": plansTotal, "samples": countsOther, "consumed_samples": countsOther, "tokens": countsOther, "consumed_tokens": countsOther,
	"rank": countsOther, "pid": countsOther, "line": countsOther, "gpu": countsOther, "eta": countsOther, "size": countsOther,
	"v_num": countsOther, "seed": countsOther, "version": countsOther, "port": countsOther, "batch_size": countsOther,
	"local_rank": countsOther, "epoch_step": countsOther, "device": countsOther, "worker": countsOther, "node": countsOther,
}

// counterOf is what the key counts.
func counterOf(key []byte) role {
	var buf [maxName]byte
	n := fold(buf[:0], key)
	if n == nil {
		return notCounter
	}
	if c, ok := counters[string(n)]; ok {
		return c
	}
	if i := lastByte(key, '/'); i >= 0 { // "trainer/global_step"
		return counterOf(key[i+1:])
	}
	return notCounter
}

func lastByte(b []byte, c byte) int {
	for i, v := range slices.Backward(b) {
		if v == c {
			return i
		}
	}
	return -1
}
