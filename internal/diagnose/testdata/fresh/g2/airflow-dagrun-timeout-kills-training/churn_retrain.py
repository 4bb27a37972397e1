with DAG(
    "churn_retrain",
    schedule="0 2 * * *",
    start_date=datetime(2023, 1, 1),
    catchup=False,
    dagrun_timeout=timedelta(hours=4),
    default_args={"retries": 0},
) as dag:
    extract >> features >> train_tft >> evaluate
