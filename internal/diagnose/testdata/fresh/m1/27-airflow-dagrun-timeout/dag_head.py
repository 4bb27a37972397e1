with DAG(
    dag_id="churn_weekly",
    schedule="0 1 * * 3",
    start_date=datetime(2023, 1, 4),
    catchup=False,
    dagrun_timeout=timedelta(hours=3),
    default_args={"retries": 2, "retry_delay": timedelta(minutes=5)},
) as dag:
    extract >> train_lgbm >> evaluate >> publish
