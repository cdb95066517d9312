module github.com/global-sched/global-sched/deploy/local/modules/karmada

go 1.25.0

tool (
	github.com/karmada-io/karmada/cmd/agent
	github.com/karmada-io/karmada/cmd/aggregated-apiserver
	github.com/karmada-io/karmada/cmd/controller-manager
	github.com/karmada-io/karmada/cmd/descheduler
	github.com/karmada-io/karmada/cmd/karmadactl
	github.com/karmada-io/karmada/cmd/scheduler
	github.com/karmada-io/karmada/cmd/scheduler-estimator
	github.com/karmada-io/karmada/cmd/webhook
)

require github.com/karmada-io/karmada v1.17.1
