with DAG(
    "ctr_weekly",
    schedule="0 2 * * 0",
    start_date=pendulum.datetime(2023, 1, 1, tz="UTC"),
    catchup=False,
    max_active_runs=1,
    dagrun_timeout=timedelta(hours=6),
    default_args={"retries": 2},
) as dag:
