#!/bin/bash
accelerate launch --num_cpu_threads_per_process=2 "./sdxl_train_network.py" \
  --pretrained_model_name_or_path="/home/kit/models/sd_xl_base_1.0.safetensors" \
  --train_data_dir="/home/kit/lora/img" --resolution="1024,1024" --enable_bucket --bucket_no_upscale \
  --output_dir="/home/kit/lora/model" --output_name="kitbot" --save_model_as=safetensors \
  --network_module=networks.lora --network_dim=32 --network_alpha=16 --network_train_unet_only \
  --learning_rate="0.0001" --lr_scheduler="cosine" --train_batch_size="2" --max_train_epochs=3 \
  --mixed_precision="fp16" --save_precision="fp16" --optimizer_type="AdamW8bit" \
  --color_aug --xformers --gradient_checkpointing --save_every_n_epochs=1 --seed=1234
