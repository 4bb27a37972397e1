with DAG(
    dag_id='recsys_daily',
    schedule_interval='0 2 * * *',
    start_date=datetime(2021, 3, 1),
    catchup=False,
    max_active_runs=1,
    dagrun_timeout=timedelta(hours=5),
    default_args={'retries': 0},
) as dag:
    wait = S3KeySensor(task_id='wait_for_impressions', bucket_key='s3://recsys-lake/impressions/dt={{ ds }}/_SUCCESS')
    train = BashOperator(task_id='train_ranker', bash_command='cd /opt/ranker && python train.py --date {{ ds }} --max_steps 30000')
    publish = BashOperator(task_id='publish', bash_command='...')
    wait >> train >> publish
