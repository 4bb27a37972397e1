#!/bin/bash
#SBATCH -A p_ling
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=4
#SBATCH --gpus-per-node=4
#SBATCH --time=12:00:00
module load gcc/12.2 cuda/12.4
export CUDA_VISIBLE_DEVICES=0
export MASTER_ADDR=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n1)
export MASTER_PORT=23907
export NCCL_DEBUG=WARN
set -x
srun --label --cpu-bind=none python -u run_clm_srun.py configs/gemma2b_lux.json
