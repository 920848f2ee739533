import { readPolicy } from '#rules'
import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { rounds } from '../../../../test/support/rounds.ts'
import { callProblems } from '../../src/policy/reach.ts'

/** Commands that run others: each would change the policy, its guards, or faults. */
const REFUSED = [
  "git config alias.r '!squall fault add --abort 503'",
  "git config alias.s '!squall mcp approve x'",
  "git config alias.r '!git reset --hard' && git r",
  "git config --global alias.r '!rm -rf *'",
  'git config alias.z stash && git z',
  'git -c alias.r=reset r --hard',
  "git -c alias.r='!squall' r fault add --abort 503",
  'git config alias.r reset && git r --hard',
  'git config alias.c clean; git c -fd',
  'git config alias.s !squall; git s fault add --abort 503',
  'git restore --staged --worktree .',
  'echo $(( (1) <<A ))\nrm squall-policy.yaml\nA',
  'npm rm -D mcp-squall',
  "bash -c 'git reset --hard'",
  'sh -c "git reset --hard"',
  "bash -lc 'git stash'",
  "env X=1 bash -lc 'git reset --hard'",
  'env -i git reset --hard',
  'env -u X git stash',
  "env -S 'git reset --hard'",
  "eval 'git reset --hard'",
  'eval git reset --hard',
  "git -c alias.x='reset --hard' x",
  "git -c alias.x='!git reset --hard' x",
  "git -c 'alias.x=!rm squall-policy.yaml' x",
  'git -C . reset --hard',
  'git -C src reset --hard',
  'bash -c "bash -c \\"git reset --hard\\""',
  `bash -c "bash -c 'git reset --hard'"`,
  `bash -c "bash -c \\"bash -c 'git stash'\\""`,
  'bash -c "bash -c \\"squall apply\\""',
  'bash -c "sh -c \\"squall mcp approve x\\""',
  "bash <<'EOF'\ngit reset --hard\nEOF",
  "bash <<< 'git reset --hard'",
  'bash <<EOF\nrm squall-policy.yaml\nEOF',
  'cat > squall-policy.yaml <<EOF\ntargets: []\nEOF',
  "echo 'git reset --hard' | sh",
  'echo "git stash" | bash',
  "printf 'git reset --hard\\n' | sh",
  'timeout 5 git reset --hard',
  'timeout -s KILL 5 git reset --hard',
  'nice -n 5 git reset --hard',
  'nohup git reset --hard',
  'setsid git reset --hard',
  'stdbuf -oL git reset --hard',
  'sudo -u me git reset --hard',
  'time -p git reset --hard',
  'watch git stash',
  'xargs git reset --hard < x',
  'git ls-files | xargs git checkout HEAD --',
  'find . -exec git reset --hard \\;',
  "find . -maxdepth 0 -exec sh -c 'git reset --hard' \\;",
  'find . -delete',
  'find . -type f -delete',
  "find . -name '*.yaml' -delete",
  "find . -iname 'SQUALL*' -delete",
  'find . -type f -exec rm {} +',
  'find . -type f -exec sed -i s/a/b/ {} \\;',
  "find . ! -name '*.ts' -delete",
  "find . -name '*.ts' -o -name '*.yaml' -delete",
  'find -delete',
  'find . -newer x -exec mv {} /tmp \\;',
  'find . -type f -fprint squall-policy.yaml',
  "ssh localhost 'cd /p && git reset --hard'",
  "tmux send-keys 'git reset --hard' Enter",
  "trap 'git reset --hard' EXIT",
  "PAGER='git reset --hard' git log",
  "GIT_PAGER='rm squall-policy.yaml' git log",
  "git -c core.pager='git reset --hard' log",
  "git rebase -x 'git reset --hard' HEAD~1",
  "git submodule foreach 'git reset --hard'",
  'git bisect run git reset --hard',
  "git checkout HEAD -- '*'",
  "git checkout HEAD -- ':/'",
  "git restore ':(top)'",
  'git restore :/',
  'git restore .',
  'git checkout -- ./',
  'git rm -r .',
  'git apply weak.diff',
  'git apply --index weak.diff',
  'git apply < weak.diff',
  'patch -p1 < weak.diff',
  'patch -p1 -i weak.diff',
  'patch -Np0 <<EOF\n--- a/squall-policy.yaml\n+++ b/squall-policy.yaml\nEOF',
  'cp -r weak/. .',
  'cp -a weak/* .',
  'cp -rT weak .',
  'cp -R weak/ ./',
  '(cd /tmp); git reset --hard',
  'false && cd /tmp; git reset --hard',
  'cd /tmp | true; git reset --hard',
  'cd /nonexistent; git reset --hard',
  'cd /tmp & git reset --hard',
  "bash -c 'cd /tmp'; git reset --hard",
  'cd /tmp && cd - && git reset --hard',
  'cd /tmp; cd -; git reset --hard',
  'cd $UNKNOWN && git reset --hard',
  'pushd /tmp; popd; git reset --hard',
  'echo x > notes.txt',
  'tee notes.txt < x',
  'rm -r dot/',
  'echo x > dot/squall-policy.yaml',
  'dd if=/dev/zero of=squall-policy.yaml',
  'dd of="squall-policy.yaml"',
  'install -m 644 weak.yaml squall-policy.yaml',
  'ln -sf /dev/null squall-policy.yaml',
  'ln -sfn weak squall-policy.yaml',
  "perl -pi -e 's/10/100/' squall-policy.yaml",
  "perl -i.bak -pe 's/a/b/' *.yaml",
  'sed -i.bak s/a/b/ *.yaml',
  'ruby -i -pe 1 squall-policy.yaml',
  "ed -s squall-policy.yaml <<< 'd'",
  "ex -sc '%d|x' squall-policy.yaml",
  "vim -es -c '%d' -c wq squall-policy.yaml",
  `python -c "import subprocess; subprocess.run(['git','reset','--hard'])"`,
  `python3 -c "import os; os.system('git reset --hard')"`,
  `python3 -c "import subprocess as s; s.run(['squall', 'fault', 'add', '--abort', '503'])"`,
  `node -e "require('child_process').execSync('git reset --hard')"`,
  `node -e "require('child_process').spawnSync('git', ['reset', '--hard'])"`,
  `node -e "require('child_process').spawn('squall',['apply','rules.yaml'])"`,
  `node -e "fs.writeFileSync('./squall-policy.yaml','x')"`,
  `node --eval="fs.rmSync('squall-policy.yaml')"`,
  "python3 - <<EOF\nopen('squall-policy.yaml','w')\nEOF",
  `perl -e 'unlink "squall-policy.yaml"'`,
  `perl -e 'system "git reset --hard"'`,
  `ruby -e 'File.write("squall-policy.yaml", "")'`,
  `awk 'BEGIN { system("git reset --hard") }'`,
  "make SHELL='git reset --hard'",
  'npm exec -- git reset --hard',
  "npx -c 'git reset --hard'",
  "npm exec -c 'squall apply'",
  'docker run -v $PWD:/w alpine rm /w/squall-policy.yaml',
  'rm $(which squall)',
  'echo > $(command -v squall)',
  'npm unlink -g mcp-squall',
  'npm rm -g mcp-squall',
  'rm node_modules/.bin/squall',
  'echo x > node_modules/mcp-squall/dist/cli/main.js',
  'rm -rf node_modules/mcp-squall',
  'echo x > ~/.local/bin/squall',
  'kubectl create configmap squall-rules --from-file=rules.yaml',
  "kubectl patch configmap squall-rules -p '{}'",
  'kubectl edit cm squall-rules -n shop',
  'kubectl annotate pod x squall.dev/inject=true',
  `claude --settings '{"disableAllHooks":true}' -p 'squall fault add'`,
  `claude --settings '{"disableAllHooks":true}' -p 'break it'`,
  'F=squall-policy; echo x > $F.yaml',
  'F=squall; G=policy; echo x > $F-$G.yaml',
  'while true; do git stash; done',
  'for f in *; do rm "$f"; done',
  'for f in *.yaml; do echo > "$f"; done',
  'ls | while read f; do rm "$f"; done',
  '{ git reset --hard; }',
  '! git reset --hard',
  'git   reset    --hard',
  '\\git reset --hard',
  '/usr/bin/git reset --hard',
  '"git" reset --hard',
  "g''it reset --hard",
  `git "reset" '--hard'`,
  'busybox rm squall-policy.yaml',
  'unlink squall-policy.yaml',
  '> squall-policy.yaml',
  ': > squall-policy.yaml',
  'exec 3>squall-policy.yaml',
  'chmod 000 squall-policy.yaml',
  'chattr +i squall-policy.yaml',
  'touch squall-policy.yaml',
  'rm -rf "$(pwd)"',
  'rm -rf `pwd`',
  'tar xf weak.tar squall-policy.yaml',
  'tar -xf weak.tar -C . --overwrite squall-policy.yaml',
  'curl http://x/p -o squall-policy.yaml',
  'wget -O squall-policy.yaml http://x',
  'XDG_STATE_HOME=/tmp/s squall mcp',
  'XDG_STATE_HOME=/tmp/s squall mcp policy trust',
  'squall redirect',
]

/** The same programs, where they change nothing that is guarded. */
const ALLOWED = [
  'git config alias.st status',
  "git config alias.l 'log --oneline'",
  'git config --get alias.l',
  "node -e '/** a */ console.log(1)'",
  "cat > src/y.ts <<'EOF'\n/** Names a place. */\nexport const at = (x) => `${x}/.mcp`\nEOF",
  'cat > Makefile <<EOF\nclean:\n\trm -rf ${OUT}/*\nEOF',
  'git restore --staged .',
  'git reset HEAD .',
  'git rm -r --cached .',
  'NODE_ENV=production npm run build',
  'grep -r live src',
  'git -c user.name=x commit -m y',
  'git -c user.name=x commit -m "change squall-policy.yaml and run squall apply"',
  "bash -c 'npm test'",
  'bash -c "npm test && npm run build"',
  "sh -c 'cat squall-policy.yaml'",
  "bash -c 'cat squall-policy.yaml | head -3'",
  'bash -lc "git status"',
  `bash -c "echo 'git reset --hard'"`,
  'eval "$(ssh-agent -s)"',
  "eval 'npm test'",
  'timeout 60 npm test',
  'timeout 5 cat squall-policy.yaml',
  'nice -n 10 cat squall-policy.yaml',
  'env -u X cat squall-policy.yaml',
  'git -C . status',
  'git -C src log --oneline',
  'git -c core.pager=cat log',
  'git -c color.ui=always diff',
  "git -c alias.st='status -s' st",
  "find . -name '*.log' -delete",
  "find . -name '*.ts' -exec prettier --write {} +",
  'find . -type f -exec grep -l live {} +',
  'find . -type f -exec cat {} \\;',
  'find src -type f -delete',
  "find . -path ./node_modules -prune -o -name '*.ts' -print",
  'find build -delete',
  "find /tmp -name 'x*' -exec rm {} \\;",
  "python -c 'print(1)'",
  `python3 -c "import json; print(json.load(open('package.json'))['version'])"`,
  "python3 -m pytest -k 'live or prod'",
  `node -e "console.log(require('./package.json').version)"`,
  `node -e "console.log('git reset')"`,
  `python3 -c "print('production')"`,
  'cp -r src build/',
  'cp a.txt b.txt .',
  'cp a.txt .',
  'cp -r src/* build/',
  'git apply good.diff',
  'patch -p1 < good.diff',
  'cd src && git status',
  'cd build; rm -rf *',
  'cd build && rm -rf ./*',
  '(cd build && rm -rf *)',
  'cd /tmp && git reset --hard',
  'cd src; npm test',
  'git reset --soft HEAD',
  'git reset src/a.ts',
  'git checkout -- src/a.ts',
  'git restore src/a.ts',
  'git stash list',
  'git commit -m "fix: git reset --hard no longer needed"',
  'echo "git reset --hard"',
  `echo 'bash -c "git reset --hard"'`,
  'grep -rn "git reset --hard" docs',
  'rg "rm squall-policy.yaml" .',
  'gh pr create --body "run git stash, then squall apply"',
  "printf 'git stash\\n'",
  "sed -i 's/production/staging/' src/a.ts",
  'tee build/out.log < x',
  'dd if=a of=build/b',
  'ln -sf ../a build/b',
  'perl -pi -e s/a/b/ src/a.ts',
  "awk '{ print $1 }' src/a.ts",
  'docker build -t squall .',
  "docker compose exec app sh -c 'npm test'",
  'kubectl -n squall get pods',
  'kubectl get configmap squall-rules -o yaml',
  'npm install',
  'npm ci && npm test',
  'npm install --save-dev mcp-squall',
  "npx vitest run -t 'live traffic'",
  'for f in src/*.ts; do wc -l "$f"; done',
  'for f in src/*.ts; do sed -i s/a/b/ "$f"; done',
  'ls | while read f; do echo "$f"; done',
  'curl -s http://127.0.0.1:15390/api/agents',
  'which squall',
  'X=$(which squall); echo $X',
  'rm -rf node_modules',
  "cat > src/b.ts <<'EOF'\nexport const a = 'production'\nEOF",
  "python3 - <<'EOF'\nprint(open('src/a.ts').read())\nEOF",
  "ssh host 'npm test'",
  'watch -n 5 npm test',
  'xargs -n1 npm test < list',
  'make -j4 test',
  "git rebase -x 'npm test' main",
  "git log --format='%h %s' | head",
  "trap 'rm -f /tmp/x' EXIT",
  'echo x > build/notes.txt',
  'cd src && cat ../squall-policy.yaml',
]

/** Commands that compute their words. */
const COMPUTED = [
  'echo x > $(echo squall-policy.yaml)',
  'echo x >$(echo squall-policy.yaml)',
  'echo x > "$(printf %s squall-policy.yaml)"',
  "echo x > $(printf '%s-%s' squall policy.yaml)",
  'echo x > `echo squall-policy.yaml`',
  'echo x > $(ls squall*)',
  'echo x > $(ls *.yaml | head -1)',
  "echo x > $(find . -name 'squall-pol*')",
  'echo x > $(git ls-files | grep policy)',
  'tee $(ls squall-*) < weak',
  'rm $(echo squall-policy.yaml)',
  'rm $(ls squall-p*)',
  'cp weak.yaml $(ls squall-p*)',
  'rm $(basename /x/squall-policy.yaml)',
  'eval "$(echo rm squall-policy.yaml)"',
  'echo `echo \\`rm squall-policy.yaml\\``',
  'rm${IFS}squall-policy.yaml',
  'rm${IFS%??}squall-policy.yaml',
  "echo x > $'squall-policy.yaml'",
  "echo x > $'\\x73quall-policy.yaml'",
  'echo x > $"squall-policy.yaml"',
  'echo x > squall-{policy,x}.yaml',
  'echo x > squall-polic[y].yaml',
  'rm squall-{a..z}olicy.yaml',
  'rm {a,{b,squall-policy}}.yaml',
  '{rm,squall-policy.yaml}',
  'f=squall-policy.yaml; echo > $f',
  'f=squall-; f+=policy.yaml; echo > $f',
  'f=squall-policy.yamlX; echo > ${f%X}',
  'echo > ${f:-squall-policy.yaml}',
  'printf -v f squall-policy.yaml; echo > $f',
  'echo ${x:=squall-policy.yaml}; rm $x',
  "sed -n '1w squall-policy.yaml' x",
  "export f=squall-policy.yaml; bash -c 'echo > $f'",
  'g() { echo > $f; }; f=squall-policy.yaml; g',
  'x="rm squall-policy.yaml"; $x',
  'for f in a squall-policy; do rm $f.yaml; done',
  'read f < list; rm $f',
  "echo 'rm squall-policy.yaml' > x.sh; chmod +x x.sh; ./x.sh",
  "cat > x.sh <<'EOF'\nrm squall-policy.yaml\nEOF\nbash ./x.sh",
  'echo $[ 1 <<A ]\nrm squall-policy.yaml\nA',
  'rsync -a weak/ ./',
  'rsync --remove-source-files -a ./ host:/x',
  'scp host:weak.yaml squall-policy.yaml',
]

/** The same for faults and approvals. */
const COMPUTED_FAULTS = [
  'squall${IFS}fault${IFS}add${IFS}--abort${IFS}503',
  '{squall,fault,add,--abort,503}',
  'x="squall fault add"; $x --abort 503',
  'c=$(echo squall) && $c fault add --abort 503',
  '$(echo squall) fault add',
  '$(which squall) apply rules.yaml',
  '$(command -v squall) apply rules.yaml',
  '"$SQUALL" fault add --abort 503',
  'eval $(echo squall apply rules.yaml)',
  'cat > x.sh <<EOF\nsquall apply rules.yaml\nEOF\nsh x.sh',
  'cat <<EOF\n$(squall apply rules.yaml)\nEOF',
  'cat <<EOF | sh\nsquall apply rules.yaml\nEOF',
  'git commit -m "$(squall apply rules.yaml)"',
  'bash -c "$(cat <<EOF\nsquall apply rules.yaml\nEOF\n)"',
  '(echo squall apply) | sh',
  'bash -c squall\\ apply',
  'source <(echo squall apply)',
  'bash < <(echo squall apply)',
  '{ echo squall apply; } | sh',
  'echo squall apply |\n sh',
]

/** Commands whose computed words lead to no guarded file, as far as anybody can see. */
const EVERYDAY = [
  'echo x > "$OUT"',
  'make 2>&1 | tee $LOG',
  'echo x > "$(mktemp)"',
  'tee "$(date +%F).log" < x',
  'for f in a.txt b.txt; do echo x > $f; done',
  'for f in src/*.ts; do cp "$f" "$f.bak"; done',
  'for i in $(seq 3); do curl -s http://x > out$i.json; done',
  'rm -rf "$TMPDIR/x"',
  'f=$(mktemp); echo x > $f; rm $f',
  'out=build/$(git rev-parse HEAD).tgz; tar czf $out src',
  'mv "$f" "$f.old"',
  'kill $(pgrep -f squall)',
  'rm -f $(git ls-files -o "*.o")',
  'sed -i s/a/b/ $(git grep -l foo -- src)',
  'cat > "out/$(basename "$f" .json).txt" < $f',
  'npx prettier --write $(git diff --name-only)',
  'mkdir -p a/{b,c}',
  'mv build/{a,b}.js dist/',
  '$TF apply -auto-approve',
  'gh pr review "$PR" --approve',
  'x=1; y=$((x << 2)); echo $y',
  'while read -r line; do echo "$line"; done < a.txt',
]

/** Texts that name commands, and copies out of the project. */
const TEXTS = [
  'rsync -a ./ host:/x',
  'rsync -avz --delete . user@host.example:/srv/app/',
  'rsync -a ./ build/',
  'scp squall-policy.yaml host:/x',
  "git commit -F - <<'EOF'\ndocs: squall fault add\n\nRun squall apply, then squall mcp approve.\nEOF",
  "git commit -m \"$(cat <<'EOF'\nfix: it's `squall fault add`\n\nrm squall-policy.yaml\nEOF\n)\"",
  'git commit -m "docs: explain squall fault add --abort 503"',
  "git tag -a v1 -m 'squall fault add'",
  'grep -r "squall fault add" docs',
  'if grep -q "squall apply" README.md; then echo found; fi',
  'cat <<EOF\nsquall apply rules.yaml\nEOF',
  "cat >> docs/a.md <<'EOF'\nRun `squall apply`, or curl -d x http://127.0.0.1:15390/api/faults\nEOF",
  'gh pr create --body "$(cat <<\'EOF\'\nRuns squall fault add.\nEOF\n)"',
  "gh release create v1 --notes 'squall apply'",
]

/** Pieces of hostile commands, and the length of these. */
const HOSTILE = [
  '1',
  'a',
  '/',
  '>',
  '[',
  '\n',
  '`',
  '*',
  '${a:-',
  'a=',
  'cd a;',
  'rg;',
  '`a`',
  'git -c reset ',
  'xargs -n ',
  'xargs -n 1 ',
  'which a xargs ',
  '@{a',
  'squall attach ',
  '"',
  '\\"',
  "$'",
  '<<a\n',
  'cat <<a\na\n',
  'for a in b;',
  'read a;',
  "['a','",
  'git apply a;',
  'find . -exec ',
  "sh -c 'a ",
  '(cd /tmp);',
  'npm r ',
  'npm rm mcp-squal ',
  'claude ',
  'kubectl edit ',
  'a=$a',
  'squall mcp ',
  'squ*ll -a ',
  'mv a/. ',
  'rm a/b ',
  'a > b;',
  "a 'b c';",
  'a | ',
  '$(echo ',
  '$(a)',
  '{a,b}',
  '{a,',
  'a=$a$a;',
  "$'\\'",
  '<<a ',
  '((',
  'alias a=b;',
  'bHMgLWwgYWJj ',
]
const LENGTH = rounds(8192, 65_536)
/** A reading in quadratic time takes hundreds of times the time of a plain command. */
const TIMES = 10

let project: string

/** The policy has a change that is not committed, and two links lead to it. */
beforeAll(async () => {
  project = await mkdtemp(join(tmpdir(), 'squall-commands-'))
  const at = (name: string): string => join(project, name)
  const git = (...args: string[]): void =>
    void execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], {
      cwd: project,
      stdio: 'ignore',
    })
  git('init', '-qb', 'master')
  for (const directory of ['src', 'weak', 'build']) await mkdir(at(directory))
  for (const name of ['squall-policy.yaml', 'src/a.ts', 'weak/squall-policy.yaml']) {
    await writeFile(at(name), 'a')
  }
  git('add', '.')
  git('commit', '-qm', 'first')
  await writeFile(at('weak.diff'), diffOf('squall-policy.yaml'))
  await writeFile(at('good.diff'), diffOf('src/a.ts'))
  await writeFile(at('squall-policy.yaml'), 'b')
  await symlink(at('squall-policy.yaml'), at('notes.txt'))
  await symlink('.', at('dot'))
})

afterAll(() => rm(project, { recursive: true }))

function diffOf(path: string): string {
  return `--- a/${path}\n+++ b/${path}\n@@ -1 +1 @@\n-a\n+c\n`
}

async function bash(command: string): Promise<string> {
  const read = readPolicy('{ targets: ["http://*"], environments: [staging] }')
  if (!read.ok) throw new Error(JSON.stringify(read.problems))
  const files = {
    policy: join(project, 'squall-policy.yaml'),
    state: join(project, '.state/squall'),
    isChanged: false,
    directory: project,
  }
  const call = { tool: 'Bash', input: { command }, url: undefined, command: undefined }
  return (await callProblems(call, read.policy, files)).join('\n')
}

it('the hook refuses a command that another one runs', async () => {
  for (const command of REFUSED) expect.soft(await bash(command), command).not.toBe('')
}, 60_000)

it('the hook allows the same programs where they change nothing that is guarded', async () => {
  for (const command of ALLOWED) expect.soft(await bash(command), command).toBe('')
}, 60_000)

it('the hook refuses shells in shells that it does not read', async () => {
  let command = 'ls -l'
  for (let depth = 0; depth < 4; depth++) command = `bash -c ${JSON.stringify(command)}`
  expect(await bash(command)).toBe('')
  expect(await bash(`bash -c ${JSON.stringify(command)}`)).toContain('nests too many shells')
})

it('the hook refuses a command that runs in many directories', async () => {
  expect(await bash('(cd src); (cd build);'.repeat(9))).toBe('')
  const many = Array.from({ length: 9 }, (_, i) => `(cd d${i})`).join(';')
  expect(await bash(many)).toContain('too many directories')
})

it.each(COMPUTED)('the hook refuses to change what guards the agent: %j', async (command) => {
  expect(await bash(command)).toMatch(/the call may change .*, which only a person may/)
})

it.each(COMPUTED_FAULTS)('the hook refuses faults past squall mcp: %j', async (command) => {
  expect(await bash(command)).toContain('without a plan, its gates and its approval')
})

it.each([...EVERYDAY, ...TEXTS])('the hook allows %j', async (command) => {
  expect(await bash(command)).toBe('')
})

/** Returns the time of a reading, in ms of this process. */
async function timeOf(piece: string): Promise<number> {
  const began = process.cpuUsage().user
  await bash(piece.repeat(Math.ceil(LENGTH / piece.length)))
  return (process.cpuUsage().user - began) / 1000
}

it('the hook reads hostile commands in about the time of a plain one', async () => {
  const plain = Math.max(await timeOf('npm test && '), await timeOf('plain words in a line '))
  for (const piece of HOSTILE) {
    const most = plain * TIMES
    // The first reading may include the work of the engine.
    const time = await timeOf(piece)
    expect.soft(time < most ? time : await timeOf(piece), piece).toBeLessThan(most)
  }
})

it('the hook refuses what has too many parts to be checked', async () => {
  const numbers = Array.from({ length: 3000 }, (_, i) => i)
  expect(await bash(numbers.map((i) => `a ${i}`).join(';'))).toContain('too long to check')
  expect(await bash(`rm ${numbers.join(' ')}`)).toContain('too many files to check')
  expect(await bash('a=bbbb;'.concat('a=$a$a;'.repeat(30)))).toContain('too long to check')
  expect(await bash('$('.repeat(100))).toContain('nests commands too deeply')
})
