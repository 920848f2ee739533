/** Words to avoid, the words to use in their place, and texts that the rule must find. */
export interface Avoided {
  readonly say: string
  readonly not: RegExp
  readonly examples: readonly [string, ...string[]]
  /** Lines in which the words are those of another program. */
  readonly allowed?: RegExp
}

/** Returns true for a line that holds the words, as a text or within an identifier. */
export function isAvoided({ not, allowed }: Avoided, line: string): boolean {
  if (allowed?.test(line) === true) return false
  return not.test(line) || not.test(withWordsApart(line))
}

/** Puts spaces between the words of identifiers. */
export function withWordsApart(text: string): string {
  return text.replace(/([a-z\d])([A-Z])/g, '$1 $2').replace(/_/g, ' ')
}

const HITS =
  /\b(?:rules?|draws?|calls?|never|no|without a|that it|faults?) hits?\b|\bdrawn (?:calls?|rules?)\b|\bmay ?hit\b|\.hits\b/i
const HELD =
  /breach|\b(?:gates?|thresholds?|slo|verdicts?|experiments?|steady state)\W+(?:\w+ ){0,3}(?:held|holds?)\b(?! \})/i

export const AVOIDED: readonly Avoided[] = [
  // One word for one thing, and the word of HTTP, MCP, Kubernetes or Prometheus where one exists.
  {
    say: 'response',
    not: /\b(?:an|the|its|no|each|every|whole|long|JSON|HTTP|unbuffered|right) answers?\b|^\W*answers (?:of|as)\b|\banswers come\b|answers are|\b(?:Only answers to|event that answers|answers in JSON|question or answer)\b|\b(?:answered|answers) with (?:status|error)\b/i,
    examples: [
      'the answer of the server',
      'jsonAnswer',
      'every answer',
      'answered with status 503',
    ],
  },
  {
    say: 'upstream, your MCP server',
    not: /\b(?:the|an|your|its|running|same) apps?\b(?! container)/i,
    examples: ['the app cannot be reached', 'An app that closes', 'port of the app'],
  },
  {
    say: 'headers',
    not: /\bmax[- ]head\b|\bhead[- ](?:size|timeout)\b|\brequest head (?:is|did)\b/i,
    examples: ['--max-head', 'headTimeout', 'the request head is too large'],
  },
  {
    say: 'protocol version',
    not: /\brevisions?\b|\beras?\b/i,
    allowed: /REVISION|\$revision|^revision=|"Revision"|revisionHistoryLimit/,
    examples: ['the revision of 2025-06-18', 'match.era', 'protocolRevision'],
  },
  {
    say: 'sampled',
    not: /\bdrawn (?:calls?|rules?)\b|\bnot[- ]drawn\b|\brule draws?\b|\bdraw (?:is|was) lost\b|\blost draws?\b/i,
    examples: ['not_drawn', 'ruleDraws', 'A rule whose draw is lost masks no other one.'],
  },
  {
    say: 'stickyBy',
    not: /`sample:?`|^\s*-? ?sample: (?:session|call|args|caller|client)\b/,
    allowed: /`all`, `sample`|log-injections|logs at most|rule-state|with its reason|`rules\[\]`/,
    examples: ['`sample`', '  sample: session'],
  },
  { say: 'matched, sampled, injected', not: HITS, examples: ['a rule hits', 'mayHit', 'no hits'] },
  {
    say: 'directory',
    not: /\bfolders?\b/i,
    allowed: /grafana|dashboards\.folder|^\s*"?folder"?: |folder of Grafana/i,
    examples: ['a folder of rules', 'rulesFolder'],
  },
  {
    say: 'string, integer, required',
    not: /\bwhole numbers?\b|\bmust be given\b|\btruth values?\b/i,
    examples: ['a whole number', 'it must be given', 'a truth value'],
  },
  {
    say: 'active, reloaded, rejected',
    not: /\bin force\b|\bare taken up\b|\btakes up edits\b|\brules? (?:file )?(?:is|are|was|were) refused\b|\brefused (?:rules?|reloads?|plans?|by squall|with status)\b/i,
    examples: ['notInForce', 'edits are taken up', 'the rules were refused', 'a refused plan'],
  },
  {
    say: 'denied',
    not: /\bpods? (?:is|are|was|were|would be) refused\b|\brefused pods?\b|\brefuses? pods?\b/i,
    examples: ['the pod is refused', 'refusedPod'],
  },
  { say: 'passed, failed', not: HELD, examples: ['the gate held', 'breached', 'a breach'] },
  {
    say: 'reported, logged, shown',
    not: /\btold\b|\btells? (?:of|whether|which|no reason)\b|^\W*Tells\b|\bsays? of\b|#tell\b/i,
    examples: [
      'nobody is told',
      'toldOf',
      '/** Tells paths',
      'say of every rule',
      'tells them apart',
    ],
  },
  {
    say: 'fix, error, invalid',
    not: /\bmend(?:s|ed|ing)?\b|\bslips?\b|\bmistakes?\b|\bbad (?:values?|inputs?|files?|pods?|status|rules?|options?|address|combination|usage|hosts?|manifests?)\b/i,
    examples: ['mends it', 'a slip', 'a mistake', 'badValue', 'bad_pod', 'BAD_INPUT'],
  },
  {
    say: 'in-flight requests',
    not: /\bledgers?\b|#pending\b|\bpending[- ](?:calls?|ttl)\b|\bmax[- ]pending\b/i,
    allowed: /max_pending_requests/,
    examples: ['pendingCalls', 'pending_calls', '--max-pending', 'pendingTtl', 'the ledger'],
  },
  { say: 'upstream connection', not: /\blanes?\b/i, examples: ['a lane', 'freeLanes'] },
  { say: 'schema violation', not: /\bmisfits?\b/i, examples: ['a misfit'] },
  {
    say: 'injection options; denied',
    not: /\bwish(?:es)?\b|\brefusals?\b/i,
    examples: ['wishesOf(pod)', 'a refusal'],
  },
  {
    say: 'fast path, standard path',
    not: /\b(?:splice|general) engine\b|--engine[= ](?:splice|general)\b/i,
    examples: ['the splice engine', 'generalEngine', '--engine splice'],
  },
  {
    say: 'issue certificates, CA, serving certificate',
    not: /\bauthority[- ](?:key|cert|file|pem)\b|\bcertificate authorit|\bleaf[- ](?:lifetime|cert)|\b(?:a|the) leaf\b/i,
    examples: ['authorityKey', 'leafLifetime', '--leaf-lifetime', 'a certificate authority'],
  },
  {
    say: 'within limit, concurrency limit, quota used',
    not: /\bspared\b|`(?:overflow|exhausted)`|result="(?:overflow|exhausted)"/i,
    examples: ['counted as spared', '`overflow`', 'result="exhausted"'],
  },
  {
    say: 'marker',
    not: /x-squall-mark\b|`mark:?`|^\s*mark: (?:true|false)/,
    examples: ['x-squall-mark', '`mark`'],
  },
  {
    say: 'dry run',
    not: /(?<!box-)\bshadows?\b/i,
    allowed: /"shadow"|`shadow`/,
    examples: ['--shadow', 'inShadow'],
  },
  {
    say: 'run, step, phase, target, position',
    not: /\bpassages?\b|\bplace flags\b|\b(?:pod|stream) places?\b|\bplaces of\b/i,
    examples: ['PLACE_FLAGS', 'PodPlace', 'placesOf(flags)', 'a passage'],
  },
  // Sentences.
  {
    say: 'injects faults into selected calls; the rules file reloads live',
    not: /\bturns chosen\b|\binto failures, by\b|\bby a rules file that\b/i,
    examples: ['turns chosen ones into failures, by a rules file that is edited live'],
  },
  {
    say: 'Every error is labelled injected or real.',
    not: /\bOf every \w+ it says\b/i,
    examples: ['Of every error it says whether it was injected or real.'],
  },
  {
    say: 'An invalid file is rejected with its line number; the previous rules stay active.',
    not: /\bchanges nothing and is\b|\bone with an? (?:mistake|slip|error) changes\b/i,
    examples: ['one with a mistake changes nothing and is told with its line'],
  },
  {
    say: 'Workloads without the annotation are never modified.',
    not: /\bask(?:s|ed)? for nothing is\b|\bis never touched\b/i,
    examples: ['what asks for nothing is never touched'],
  },
  {
    say: 'A rule that is not sampled does not stop later rules.',
    not: /\bmasks no other\b/i,
    examples: ['A rule whose draw is lost masks no other one.'],
  },
  {
    say: 'The default tolerates a 50 % error rate.',
    not: /\bbears? half of\b/i,
    examples: ['so that the default bears half of all calls failing'],
  },
  {
    say: 'Requests that the fast path cannot handle go to the standard path unread.',
    not: /\bis not refused by it\b|\bone of them does not take\b/i,
    examples: ['What one of them does not take is not refused by it either'],
  },
  {
    say: 'optional calls',
    not: /\b(?:can|could) (?:not )?do without\b/i,
    examples: ['calls that it can do without'],
  },
]
