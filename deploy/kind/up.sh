#!/usr/bin/env bash
# Brings up Karmada with member clusters on kind, and installs global-sched with deploy/install.sh.
# It may be repeated. CI does not run it, since that has no containers; docs/deploy.md says so, too.
#
#   deploy/kind/up.sh
#
#   MEMBERS    how many members (default: 2)     STATE     folder of kubeconfigs and Karmada's data
#   KARMADA    Karmada's version (default: 1.18.2)         (default: ~/.local/state/global-sched/kind)
#
# It needs Linux (clusters speak to each other by the addresses of their containers), docker, kubectl,
#   kind 0.31.0      go install sigs.k8s.io/kind@v0.31.0
#   karmadactl       the version of KARMADA; `make karmada-up` builds one
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
members=${MEMBERS:-2}
version=${KARMADA:-1.18.2}
state=${STATE:-${XDG_STATE_HOME:-$HOME/.local/state}/global-sched/kind}
image=global-sched:0.1.0

need() {
  command -v "$1" >/dev/null || { echo "$0: $1 is missing: $2" >&2; exit 1; }
}
need docker "https://docs.docker.com/engine/install/"
docker info >/dev/null 2>&1 || { echo "$0: docker is there, but its daemon does not answer" >&2; exit 1; }
[[ $(uname -s) == Linux ]] || { echo "$0: only Linux reaches containers by address" >&2; exit 1; }
need kind "go install sigs.k8s.io/kind@v0.31.0"
need kubectl "https://kubernetes.io/docs/tasks/tools/"
need karmadactl "https://github.com/karmada-io/karmada/releases/tag/v$version"
[[ $members =~ ^[1-9]$ ]] || { echo "$0: MEMBERS=$members: use 1 to 9" >&2; exit 2; }
mkdir -p "$state"
chmod 700 "$state"

# Names of kind clusters begin with gs-, so that no other cluster is taken for ours.
# A cluster and its kubeconfig with the address of its container, which pods of the others reach, too.
cluster() {
  local name=gs-$1 file=$state/$1.kubeconfig address
  kind get clusters 2>/dev/null | grep -qx "$name" ||
    kind create cluster --name "$name" --config "$here/cluster.yaml" --kubeconfig "$file" --wait 120s
  kind get kubeconfig --name "$name" >"$file"
  address=$(docker inspect -f '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}' "$name-control-plane")
  kubectl --kubeconfig "$file" config set-cluster "kind-$name" --server "https://$address:6443" >/dev/null
  chmod 600 "$file"
}

cluster host
for i in $(seq "$members"); do cluster "member$i"; done

karmada=$state/karmada/karmada-apiserver.config
if [[ ! -r $karmada ]]; then
  karmadactl init --kubeconfig "$state/host.kubeconfig" \
    --karmada-data "$state/karmada" --karmada-pki "$state/karmada/pki" \
    --crds "https://github.com/karmada-io/karmada/releases/download/v$version/crds.tar.gz"
fi
for i in $(seq "$members"); do
  kubectl --kubeconfig "$karmada" get cluster "member$i" >/dev/null 2>&1 ||
    karmadactl --kubeconfig "$karmada" join "member$i" \
      --cluster-kubeconfig "$state/member$i.kubeconfig" --cluster-context "kind-gs-member$i"
done

docker build -f "$root/deploy/images/Containerfile" -t "$image" "$root"
arguments=()
for i in $(seq "$members"); do arguments+=("member$i=$state/member$i.kubeconfig"); done
for name in gs-host $(seq -f 'gs-member%g' "$members"); do kind load docker-image "$image" --name "$name"; done

KARMADA_KUBECONFIG=$karmada HOST_KUBECONFIG=$state/host.kubeconfig IMAGE=$image VOLCANO_KINDS=1 RUN_VOLCANO_JOBS=1 \
  "$root/deploy/install.sh" "${arguments[@]}"
kubectl --kubeconfig "$state/host.kubeconfig" -n karmada-system rollout status deployment/global-sched --timeout=120s
for i in $(seq "$members"); do
  kubectl --kubeconfig "$state/member$i.kubeconfig" -n global-sched rollout status deployment/member-agent --timeout=120s
done
echo "export KUBECONFIG=$karmada"
