with DAG("ranker_weekly", schedule="@weekly", start_date=datetime(2023, 1, 1),
         dagrun_timeout=timedelta(hours=6), catchup=False) as dag:
    export >> features >> train_ranker >> publish
