with DAG('weekly_ranker', schedule='0 2 * * 2', catchup=False,
         default_args={'retries': 1, 'execution_timeout': timedelta(hours=2)}) as dag:
    extract = PythonOperator(task_id='extract', python_callable=extract)
    train = PythonOperator(task_id='train_model', python_callable=train_model)
    deploy = PythonOperator(task_id='deploy', python_callable=deploy)
    extract >> train >> deploy
