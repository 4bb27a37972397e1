from datetime import datetime, timedelta
from airflow import DAG
from airflow.providers.cncf.kubernetes.operators.pod import KubernetesPodOperator

with DAG(
    dag_id="train_ranker_daily",
    schedule="0 1 * * *",
    start_date=datetime(2023, 10, 1),
    catchup=False,
    max_active_runs=1,
    dagrun_timeout=timedelta(hours=2),
    default_args={"retries": 1, "execution_timeout": timedelta(hours=8)},
) as dag:
    export = KubernetesPodOperator(task_id="export_features", image="reg/feat:5.1", name="export-features")
    train = KubernetesPodOperator(task_id="train_model", image="reg/ranker:8.0", name="train-model",
                                  arguments=["--steps", "25000"])
    publish = KubernetesPodOperator(task_id="publish_model", image="reg/publish:2.2", name="publish-model")
    export >> train >> publish
