# What tools/tpurun, tools/test, tools/bench and tools/fuzz share; sourced with $root set to the
# checkout and packages to those that the caller needs besides the program's. It installs what is missing
# and defines the functions below and, in $cache, the folder that outlives a build.

"$root/tools/setup" "${packages[@]}" || exit

# A user without a writable home gets a folder of their own under TMPDIR.
home=${HOME:-$(getent passwd "$EUID" | cut -d: -f6)}
cache=${XDG_CACHE_HOME:-$home/.cache}/tpurun
if ! mkdir -p "$cache" 2>/dev/null || [[ ! -w $cache ]]; then
  home=${TMPDIR:-/tmp}/tpurun-home-$EUID
  cache=$home/.cache/tpurun
  if ! mkdir -p -m 700 "$home" || [[ ! -O $home ]] || ! mkdir -p "$cache"; then
    echo "${0##*/}: no folder to build in: $home cannot be used; set HOME to one that can be written" >&2
    exit 1
  fi
fi

# bazel COMMAND [ARGUMENT]...: Debian's Bazel in the checkout.
bazel() {
  (cd "$root" && HOME=$home exec /usr/bin/bazel "$@" </dev/null)
}

# bazel_run COMMAND [ARGUMENT]...: the same for build and test, on standard error: errors, warnings
# and a line now and then about what is being compiled; nothing when nothing has changed. Of several
# at a time one builds and the others wait.
bazel_run() {
  local links=()
  [[ -w $root ]] || links=(--experimental_convenience_symlinks=ignore)
  {
    if ! flock --wait 5 9; then
      echo "${0##*/}: waiting for another build of this user to end" >&2
      flock 9
    fi
    bazel "$1" --disk_cache="$cache/bazel" --show_result=0 \
      --show_progress --curses=no --show_progress_rate_limit=10 "${links[@]}" "${@:2}" 2>&1 9>&- |
      grep -vE --line-buffered '^(INFO:|Loading:|Analyzing:|Starting local Bazel|\[0 /)' >&2 9>&-
    return "${PIPESTATUS[0]}"
  } 9>"$cache/lock"
}

# build_tpurun [TARGET]...: builds the program, and what else is named. Whole libraries are compiled at once, in
# little more than half the time of a build by files, until the tests have been built in the checkout: from
# then on the program is built as they need it (tools/cc.bzl).
build_tpurun() {
  local options=()
  [[ -d $root/bazel-bin/tests/cli ]] || options=(--define=whole_libraries=yes)
  bazel_run build "${options[@]}" //cli:tpurun "$@"
}

# venv_of REQUIREMENTS: the folder of the Python environment with the packages that the file names;
# a changed file has another folder.
venv_of() {
  echo "$cache/$(basename "$(dirname "$1")")-$(sha256sum "$1" | cut -c1-16)"
}

# make_venv REQUIREMENTS MODULES: makes that environment, unless it is there, and tries to import the
# modules. "complete" is written last, so that an interrupted installation is done again.
make_venv() {
  local venv
  venv=$(venv_of "$1")
  {
    flock 8
    [[ -e $venv/complete ]] && return
    rm -rf "$venv"
    /usr/bin/python3 -m venv "$venv" &&
      "$venv/bin/pip" install --disable-pip-version-check --progress-bar off --no-compile \
        -r "$1" &&
      "$venv/bin/python" -c "import $2" &&
      touch "$venv/complete"
  } 8>"$venv.lock"
}
