#!/bin/bash
#SBATCH --job-name=kfold
#SBATCH --array=1-12%6
#SBATCH --gres=gpu:1
#SBATCH --time=08:00:00
#SBATCH --output=logs/kfold_%A_%a.out
source /lustre/project/p1188/bhat/conda/etc/profile.d/conda.sh
conda activate tf24
srun python kfold_train.py --fold ${SLURM_ARRAY_TASK_ID} --epochs 40 \
     --outdir /lustre/project/p1188/bhat/kfold --ckpt-name best_model.h5
