study = optuna.create_study(study_name="lgbm-dl-ctr-07", storage=DB, direction="minimize",
                            pruner=optuna.pruners.MedianPruner(n_startup_trials=8))
study.optimize(objective, n_trials=40, catch=(RuntimeError,))
