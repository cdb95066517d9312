#!/usr/bin/env bash
# Deletes what up.sh made, and nothing else: its clusters by name, then its state folder.
set -euo pipefail

state=${STATE:-${XDG_STATE_HOME:-$HOME/.local/state}/global-sched/kind}
command -v kind >/dev/null || { echo "$0: kind is missing" >&2; exit 1; }
for file in "$state"/*.kubeconfig; do
  [[ -e $file ]] || continue
  name=$(basename "$file" .kubeconfig)
  kind delete cluster --name "gs-$name" --kubeconfig "$file"
  rm -f "$file" "$file.lock"
done
rm -rf "$state/karmada"
rmdir "$state" 2>/dev/null || true
