module github.com/global-sched/global-sched/deploy/local/modules/helm

go 1.25.0

tool helm.sh/helm/v3/cmd/helm

require helm.sh/helm/v3 v3.19.0
