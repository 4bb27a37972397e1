package report

// AnomalyType is one of the anomaly types of the contract.
type AnomalyType string

// The anomaly types.
const (
	AnomalyNaNInf            AnomalyType = "nan-inf"
	AnomalyOOM               AnomalyType = "oom"
	AnomalyDivergence        AnomalyType = "divergence"
	AnomalyStalled           AnomalyType = "stalled"
	AnomalyCrash             AnomalyType = "crash"
	AnomalyCheckpointFailure AnomalyType = "checkpoint-failure"
	AnomalySlowThroughput    AnomalyType = "slow-throughput"
	AnomalyGradientExplosion AnomalyType = "gradient-explosion"
	AnomalyCUDAError         AnomalyType = "cuda-error"
	AnomalyDistributedError  AnomalyType = "distributed-error"
	AnomalyDataError         AnomalyType = "data-error"
	AnomalyPipelineFailed    AnomalyType = "pipeline-failed"
	AnomalyTaskFailed        AnomalyType = "task-failed"
	AnomalyJobFailed         AnomalyType = "job-failed"
	AnomalyCancelled         AnomalyType = "cancelled"
	AnomalyStuckPipeline     AnomalyType = "stuck-pipeline"
	AnomalyLogError          AnomalyType = "log-error"
	AnomalyDiskFilling       AnomalyType = "disk-filling"
	AnomalyMemoryLeak        AnomalyType = "memory-leak"
	AnomalyDeadlineRisk      AnomalyType = "deadline-risk"
)

// AnomalyTypes lists them in the order of the documents.
var AnomalyTypes = []AnomalyType{
	AnomalyNaNInf, AnomalyOOM, AnomalyDivergence, AnomalyStalled, AnomalyCrash, AnomalyCheckpointFailure, AnomalySlowThroughput,
	AnomalyGradientExplosion, AnomalyCUDAError, AnomalyDistributedError, AnomalyDataError, AnomalyPipelineFailed, AnomalyTaskFailed,
	AnomalyJobFailed, AnomalyCancelled, AnomalyStuckPipeline, AnomalyLogError, AnomalyDiskFilling, AnomalyMemoryLeak, AnomalyDeadlineRisk,
}
