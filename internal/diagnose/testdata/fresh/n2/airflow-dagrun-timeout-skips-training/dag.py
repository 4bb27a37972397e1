with DAG(
    "ctr_weekly", schedule="@weekly", catchup=False,
    dagrun_timeout=timedelta(hours=7),
) as dag:
    extract = BashOperator(task_id="extract", bash_command="...")        # took 1:09 on 2024-06-03
    train = BashOperator(task_id="train_dlrm", bash_command="python /repo/dlrm/train.py --days 28")  # was --days 14
    extract >> train
