#!/bin/bash
# five folds side by side, one GPU each
OUT=/nfs/kws/best_model.h5
for f in 0 1 2 3 4; do
  CUDA_VISIBLE_DEVICES=$f nohup python train_attrnn.py --fold $f --seed $f --epochs 40 --out $OUT > logs/fold$f.log 2>&1 &
done
wait
