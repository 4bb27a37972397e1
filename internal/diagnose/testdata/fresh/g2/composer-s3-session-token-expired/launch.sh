#!/bin/bash
# role session for the bucket, valid 12 h
eval $(aws sts assume-role --role-arn arn:aws:iam::210987654321:role/lm-train --role-session-name mpt3b --duration-seconds 43200 \
  | jq -r '.Credentials | "export AWS_ACCESS_KEY_ID=<redacted>", "export AWS_SECRET_ACCESS_KEY=<redacted>", "export AWS_SESSION_TOKEN=<redacted>"')
composer -n 8 scripts/train/train.py yamls/pretrain/mpt-3b-code.yaml > train.log 2>&1
