#!/usr/bin/env bash
# Installs global-sched from the manifests beside this file; docs/deploy.md says what each step is for.
#
#   deploy/install.sh MEMBER=KUBECONFIG...
#
#   KARMADA_KUBECONFIG   an administrator of the Karmada API server (required)
#   HOST_KUBECONFIG      an administrator of the cluster that hosts Karmada (required)
#   KARMADA_SERVER       the Karmada API server as pods reach it (default: as in KARMADA_KUBECONFIG)
#   IMAGE                the image of both programs (default: global-sched:0.1.0)
#   VOLCANO_KINDS=1      also install the kinds of Volcano, where Volcano does not
#   RUN_VOLCANO_JOBS=1   the agents run Volcano Jobs themselves, and get the rights for that; not where Volcano does
#
# Every step may be repeated: what is there already stays or is brought up to date.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
kubectl=${KUBECTL:-kubectl}
image=${IMAGE:-global-sched:0.1.0}
: "${KARMADA_KUBECONFIG:?an administrator kubeconfig of the Karmada API server}"
: "${HOST_KUBECONFIG:?an administrator kubeconfig of the cluster that hosts Karmada}"
[[ $# -gt 0 ]] || { echo "usage: $0 MEMBER=KUBECONFIG..." >&2; exit 2; }
for pair in "$@"; do
  [[ $pair =~ ^[a-z0-9]([-a-z0-9.]{0,46}[a-z0-9])?=.+$ && -r ${pair#*=} ]] ||
    { echo "$0: '$pair' is not NAME=KUBECONFIG with a file that can be read" >&2; exit 2; }
done

karmada() { "$kubectl" --kubeconfig "$KARMADA_KUBECONFIG" "$@"; }
host() { "$kubectl" --kubeconfig "$HOST_KUBECONFIG" "$@"; }
apply=(apply --server-side --force-conflicts --field-manager=global-sched-install)
say() { printf '%s\n' "$*"; }

# A manifest with the image, a member's name and, where asked for, the setting for Volcano Jobs filled in.
jobs=${RUN_VOLCANO_JOBS:+true}
filled() {
  sed -e "s|image: global-sched:0.1.0|image: $image|" -e "s|MEMBER|${1:-MEMBER}|g" \
    -e "s|^    in_cluster: true\$|&${jobs:+\n    run_volcano_jobs: true}|"
}

# A kubeconfig on standard output: the Karmada API server as one of its ServiceAccounts.
# Its token lives in a Secret until that is deleted; delete it to take the access away.
credential() {
  local namespace=$1 account=$2 token="" ca server
  karmada -n "$namespace" "${apply[@]}" -f - >/dev/null <<EOF
apiVersion: v1
kind: Secret
metadata:
  name: $account-token
  namespace: $namespace
  annotations: {kubernetes.io/service-account.name: $account}
type: kubernetes.io/service-account-token
EOF
  for _ in $(seq 60); do
    token=$(karmada -n "$namespace" get secret "$account-token" -o 'jsonpath={.data.token}')
    [[ -n $token ]] && break
    sleep 0.5
  done
  [[ -n $token ]] || { echo "no token for $namespace/$account after 30 s: does the" \
    "controller serviceaccount-token run for the Karmada API server?" >&2; exit 1; }
  server=${KARMADA_SERVER:-$(karmada config view --minify -o 'jsonpath={.clusters[0].cluster.server}')}
  ca=$(karmada -n "$namespace" get secret "$account-token" -o 'jsonpath={.data.ca\.crt}')
  cat <<EOF
apiVersion: v1
kind: Config
clusters: [{name: karmada, cluster: {server: "$server", certificate-authority-data: "$ca"}}]
users: [{name: $account, user: {token: "$(base64 -d <<<"$token")"}}]
contexts: [{name: karmada, context: {cluster: karmada, user: $account}}]
current-context: karmada
EOF
}

# A Secret of a cluster with a kubeconfig from standard input.
keep() {
  local kubeconfig=$1 namespace=$2 name=$3
  "$kubectl" create secret generic "$name" --namespace "$namespace" --dry-run=client -o yaml \
    --from-file=kubeconfig=/dev/stdin |
    "$kubectl" --kubeconfig "$kubeconfig" "${apply[@]}" -f - >/dev/null
}

# A namespace, made unless it is there.
space() {
  "$kubectl" create namespace "$2" --dry-run=client -o yaml |
    "$kubectl" --kubeconfig "$1" "${apply[@]}" -f - >/dev/null
}

volcano_kinds() {
  "$kubectl" --kubeconfig "$1" "${apply[@]}" -f "$here/../crds/batch.volcano.sh_jobs.yaml" \
    -f "$here/../crds/scheduling.volcano.sh_podgroups.yaml" \
    -f "$here/../crds/scheduling.volcano.sh_queues.yaml" \
    -f "$here/../crds/topology.volcano.sh_hypernodes.yaml"
}

say "== the Karmada API server"
space "$KARMADA_KUBECONFIG" karmada-system
[[ -z ${VOLCANO_KINDS:-} ]] || volcano_kinds "$KARMADA_KUBECONFIG"
"$kubectl" kustomize "$here/control-plane" | karmada "${apply[@]}" -f -

say "== global-sched, in the cluster that hosts Karmada"
space "$HOST_KUBECONFIG" karmada-system
credential karmada-system global-sched | keep "$HOST_KUBECONFIG" karmada-system global-sched-kubeconfig
"$kubectl" kustomize "$here/global-sched/host" | filled | host "${apply[@]}" -f -

for pair in "$@"; do
  name=${pair%%=*} member=${pair#*=}
  say "== member-agent of $name"
  space "$KARMADA_KUBECONFIG" "karmada-es-$name"
  filled "$name" <"$here/member-agent/control-plane/access.yaml" | karmada "${apply[@]}" -f -
  [[ -z ${VOLCANO_KINDS:-} ]] || volcano_kinds "$member"
  space "$member" global-sched
  credential "karmada-es-$name" member-agent | keep "$member" global-sched member-agent-control-plane
  if [[ -n $jobs ]]; then
    "$kubectl" --kubeconfig "$member" "${apply[@]}" -k "$here/member-agent/jobs"
  else # an earlier version bound them everywhere
    "$kubectl" --kubeconfig "$member" delete --ignore-not-found -k "$here/member-agent/jobs"
  fi
  "$kubectl" kustomize "$here/member-agent" | filled "$name" |
    "$kubectl" --kubeconfig "$member" "${apply[@]}" -f -
done
say "installed: kubectl --kubeconfig $KARMADA_KUBECONFIG get capacityreports -A shows every member that reports"
