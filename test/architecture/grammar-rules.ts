import type { Passage } from './passages.ts'

/** A pattern of sentences that read like a translation, and how to write them. */
export interface GrammarRule {
  readonly name: string
  /** A space stands for any white space, except in rules about whole sources. */
  readonly not: RegExp
  readonly write: string
  /** Texts that the rule must find. */
  readonly found: readonly [string, ...string[]]
  /** Texts that no rule may find. */
  readonly fine: readonly [string, ...string[]]
  /** The passages that it reads; by default all but whole sources. */
  readonly reads?: Exclude<Passage['kind'], 'prose'>
}

/**
 * Things that know, tell and want in texts that read like a translation. Clients, servers, agents
 * and sidecars are missing here: they know and want in plain English, too.
 */
const THING =
  '(?:rules?|faults?|keys?|tables?|types?|schemas?|load|experiments?|pages?|hooks?|templates?|kernel|files?|flags?|headers?|responses?|requests?|calls?|escapes?|selectors?|scripts?|tests?|age|severity|`critical`|writing)'
const MAY =
  '(?:(?:does|do|can|could|may|would|must|has|have|had|no|not|never|still|longer|only|alone) ){0,3}'
/** Objects that are met in plain English. */
const MEETABLE =
  '(?: (?:a|an|the|its|their|this|that|these|those|all|any|every|each|no|one|both|such|many|most))*(?: of)?(?: the)? (?:conditions?|objectives?|deadlines?|limits?|bounds?|thresholds?|targets?|rule|requirements?|slos?)\\b'

export const GRAMMAR: readonly GrammarRule[] = [
  {
    name: 'is-no',
    not: /(?<!\bthere (?:\w+ )?)\b(?:is|are|was|were|be) no (?!longer\b|more\b|less\b|use\b|problem\b|\w+er than\b)\w+/i,
    write: 'a.yaml is not a valid plan',
    found: ['"a.yaml" is no plan', 'bytes that are no UTF-8', 'a response that was no success'],
    fine: [
      'a.yaml is not a valid plan',
      'there is no plan',
      'There may be no rule',
      'is no longer',
    ],
  },
  {
    name: 'here-twice',
    not: /\b(?:is|are|was) (?:t?here twice|called \S+ as well)/i,
    write: 'duplicate key "rules" (first at line 3)',
    found: ['the key "rules" is here twice', 'rules[1] is called slow as well'],
    fine: ['duplicate key "rules" (first at line 3)'],
  },
  {
    name: 'stands',
    not: /(?<!\bas it )\bstands\b(?! (?:for|in for|out|still|behind)\b)|\bstood\b(?! still\b)|\bstand(?:ing)? (?:right )?(?:in(?! for)|under|at|above|below|before|beside|between|on|against|here|there)\b/i,
    write: 'pass the value of data."rules.yaml"; `after` belongs below `faults`',
    found: [
      'the rules are what stands under a key of its data',
      'faults stand in the list `faults`',
      'parameters stand right under the name of the fault',
    ],
    fine: ['pass the value of data."rules.yaml"', '`*` stands for any characters', 'stood still'],
  },
  {
    name: 'be-or-not',
    not: /\bbe (?:the|it|they|there|an?) [^.;:]{1,60} or not\b|\bwhichever(?=[,;.)])/i,
    write: 'whether or not the upstream is reachable',
    found: [
      'Whether traffic is accepted, be the upstream there or not.',
      'its end, whichever, before',
    ],
    fine: ['whether or not the upstream is reachable', 'whichever comes first'],
  },
  {
    name: 'bears',
    not: /\b(?:bears?|borne|bore)\b(?! in mind)/i,
    write: 'Tolerations for the pods of the webhook.',
    found: ['Taints that it bears.', 'so that the default bears half of all calls failing'],
    fine: ['Tolerations for the pods of the webhook.', 'The default tolerates a 50 % error rate.'],
  },
  {
    name: 'held-up',
    not: /\b(?:is|are|was|were|be|been|never) held up\b/i,
    write: 'Other pods are not delayed.',
    found: ['Others are never held up.', 'calls are held up'],
    fine: ['Other pods are not delayed.'],
  },
  {
    name: 'make-one',
    not: /\b(?:makes?|made|making) one(?=[.,;:)]|$| (?:of|for|while|when|with|from|by|in|and|at|if|where)\b)/i,
    write: 'Create a ServiceAccount.',
    found: ['Make one.', 'makes one while there is room'],
    fine: ['Create a ServiceAccount.', '2000 client connections make one small call each'],
  },
  {
    name: 'goes-without',
    not: /\b(?:goes|went|going) without\b/i,
    write: 'optional calls were skipped',
    found: ['went without optional calls', 'a task that goes without it'],
    fine: ['optional calls were skipped', 'does the agent go without the tool?'],
  },
  {
    name: 'says-so',
    not: /\b(?:nothing|nobody|none|not)\b[^.,;]{0,30}\bsays? so\b|\bwith (?:less|more|fewer|nothing) in (?:it|them)\b/i,
    write: 'shorter than the original, without any sign of it',
    found: ['with less in it and nothing that says so', 'a stream does not say so'],
    fine: ['shorter than the original, without any sign of it'],
  },
  {
    name: 'so-many',
    not: /\bso many\b|\bso much\b(?! (?:as|so|that)\b)|\bas many as there (?:are|is)\b/i,
    write: 'the number of bytes after which a connection is reset',
    found: ['after so many bytes', 'Bytes arrive so much later.', 'as many as there are'],
    fine: ['the number of bytes after which a connection is reset', 'as many as `calls`'],
  },
  {
    name: 'hears',
    not: /\b(?:hears?|heard) (?:of|about|no|nothing)\b|\b(?:is|was|were|been) (?:\w+ )?heard\b/i,
    write: 'the upstream does not receive a call whose client has left',
    found: ['the upstream never hears of a call', 'Nothing was heard yet.'],
    fine: ['the upstream does not receive a call whose client has left'],
  },
  {
    name: 'knows',
    not: new RegExp(
      String.raw`\bknows? (?:no|none|nothing|of)\b(?! (?:longer|more)\b)|\b${THING} ${MAY}(?:knows?|tells?|wants?|learns?)\b`,
      'i',
    ),
    write: 'toxiproxy does not support HTTP; the selector requires a=b',
    found: [
      'toxiproxy knows no HTTP',
      'the selector wants a=b',
      'the kernel does not know the name',
    ],
    fine: ['toxiproxy does not support HTTP', 'the client does not know', 'the tools of a server'],
  },
  {
    name: 'meets',
    not: new RegExp(
      String.raw`\b(?:clients?|agents?|calls?|callers?|probes?|tasks?|rules?|faults?|errors?|it|they) ${MAY}(?:meets?|met)\b(?!${MEETABLE})`,
      'i',
    ),
    write: 'the call gets a fault; the agent receives an error',
    found: [
      'what the client meets',
      'errors as an agent meets them',
      'No fault has met a task yet.',
    ],
    fine: [
      'the agent receives an error',
      'calls that cannot meet the deadline',
      'the limit is met',
    ],
  },
  {
    name: 'given-up',
    not: /\bgiven up\b|\bgave up (?:before|because)\b/i,
    write: 'lines that were dropped; a call that was cancelled',
    found: ['what was given up because messages held too much'],
    fine: ['lines that were dropped', 'the client gives up after 60 s'],
  },
  {
    name: 'loses-no',
    not: /\b(?:loses?|lost) (?:no|nothing)\b/i,
    write: 'Retry once before a sidecar counts as lost',
    found: ['a single unanswered request loses no sidecar', 'a transform that fails loses nothing'],
    fine: ['Retry once before a sidecar counts as lost'],
  },
  {
    name: 'speaks-against',
    not: /\b(?:speaks?|stands?|spoke) against\b/i,
    write: 'reasons not to inject',
    found: ['What speaks against injecting'],
    fine: ['reasons not to inject'],
  },
  {
    // 'Of every error it says whether it was injected or real.'
    name: 'begins-of',
    not: /(?:^|\. )Of (?:every|each|all|an?|what|its) |; of (?:every|each|all|an?|the|what|its) /,
    write: 'Every error is labelled injected or real.',
    found: [
      'Of every error it says whether it was injected.',
      'The share; of a stream, its event.',
    ],
    fine: ['Every error is labelled *injected* or *real*.', 'Of the clients, one fails.'],
  },
  {
    // 'what asks for nothing is never touched'
    name: 'what-is',
    not: /(?:^|[.;] )what (?!(?:it|they|you) (?:is|are) )(?![^.]*\bis what\b)(?:[\w`*-]+ ){1,8}(?:is|are) (?:(?:never|not|also|then|only) )?(?:\w+ed|left|read|kept|written|sent|known|taken|lost|put|no)\b/i,
    write: 'Workloads without the annotation are never modified.',
    found: [
      'what asks for nothing is never touched',
      'What one of them does not take is not refused by it either',
      'It is quoted. What is around it is not read.',
    ],
    fine: [
      'Workloads without the annotation are never modified.',
      'What is counted',
      'Requests that the fast path cannot handle go to the standard path unread.',
    ],
  },
  {
    // 'one with a mistake changes nothing and is told with its line'
    name: 'one-that',
    not: /(?:^|[.;] )one (?:with|without|that|whose|which)\b|\b(?:such|other|chosen|certain) ones?\b|\bof such(?=[,.;:)])/i,
    write: 'An invalid file is rejected; the previous rules stay active.',
    found: [
      'Reads a file; one with a mistake changes nothing',
      'turns chosen ones into failures',
      'A rule whose draw is lost masks no other one.',
      'a list of such, or an expression',
    ],
    fine: [
      'An invalid file is rejected with its line number',
      'A rule that is not sampled does not stop later rules.',
      'such a tool',
      'one of the three',
    ],
  },
  {
    name: 'goes-with',
    not: /\b(?:goes?|going) with\b[^.;]{0,60}\bonly\b|\bcannot go with\b/i,
    write: '`jitter` requires `fixed`; `first` cannot be combined with `burst`',
    found: ['`jitter` goes with `fixed` only', 'it cannot go with `every`'],
    fine: ['`jitter` requires `fixed`', 'a burst goes with the next call'],
  },
  {
    name: 'given-twice',
    not: /\bgive \S+ or \S+, not both\b|\b(?:is|are) given (?:twice|alone)\b/i,
    write: 'only one of `a`, `b` is allowed; duplicate target "db"',
    found: ['give `a` or `b`, not both', '"db" is given twice'],
    fine: ['only one of `a`, `b` is allowed', 'duplicate target "db"', 'given the rules'],
  },
  {
    name: 'wants-found',
    not: /\b(?:needs|wants) [^.;:]{1,60}, found\b/i,
    write: 'must be a list; got "x"',
    found: ['needs a list, found "x"', 'wants a or b*, found search'],
    fine: ['must be a list; got "x"', 'the call needs a session'],
  },
  {
    name: 'nothing-like-it',
    not: /\b(?:nothing like it|no such thing)\b/i,
    write: 'toxiproxy has no equivalent',
    found: ['Other tools have nothing like it.', 'toxiproxy has no such thing'],
    fine: ['toxiproxy has no equivalent', 'no such file'],
  },
  {
    name: 'taken-back',
    not: /\b(?:is|are|was|were) taken back\b|\bdid execute\b|\bmakes \S+ pointless\b/i,
    write: 'until the rule is removed; the upstream has executed the call',
    found: [
      'until the rule is taken back',
      'the upstream did execute it',
      '--insecure makes --ca pointless',
    ],
    fine: ['until the rule is removed', 'the upstream has executed the call'],
  },
  {
    name: 'comes-by',
    not: /\b(?:comes?|came|goes|went) by (?:an|another|the) (?:\w+ )?(?:connection|stream)\b/i,
    write: 'the response is sent on another connection',
    found: ['the response goes by another connection', 'a call that came by the stream'],
    fine: ['the response is sent on another connection', 'a connection by TLS'],
  },
  {
    name: 'too-short',
    reads: 'description',
    not: /^(?:(?!…)\S)+(?: (?:(?!…)\S)+)?$/,
    write: 'Closes without draining. (three words or more)',
    found: ['When.', 'The rule.'],
    fine: ['Closes without draining.', 'Maximum time of all stages together.', '…'],
  },
  {
    name: 'too-long',
    reads: 'description',
    // Each value of an enumeration, as in '`all`: …', has a description of its own.
    not: /(?:^|`[^`]+`: )(?:(?!`[^`]+`: )\S+ ){30}(?!`[^`]+`: )\S/,
    write: 'Closes without draining. (at most 30 words, for each value of an enumeration)',
    found: [`${'word '.repeat(30)}word`, `\`a\`: short. \`b\`: ${'word '.repeat(30)}word`],
    fine: [`${'word '.repeat(29)}word`, `\`a\`: ${'word '.repeat(29)}word. \`b\`: short.`],
  },
  {
    // A function that returns nothing, or whether it did, does what its name says.
    name: 'noun-for-verb',
    reads: 'code',
    not: /(?:\b(?:async|function|const) |[\n;{}] +|#)(?:response|rejection|injection|violation|denial)s?(?:[A-Z][a-z]+(?<!s|ed|[Bb]egan))?(?: = (?:async )?)?\((?:[^()]|\([^()]*\))*\): (?:void|boolean|Promise<(?:void|boolean)>)(?= \{| =>|\n)/,
    write: '`respond(ctx)`, `methodResult`: a verb for what acts, a noun for what is returned',
    found: [
      '\n  response(entry: Entry, bytes: number): void {',
      'function responseMethod({ id }: Request): void {',
      'async #response(): Promise<void> {',
    ],
    fine: ['\n  respond(ctx): void {', 'function response(file: URL): Promise<Response> {'],
  },
]

/** Returns the texts in a passage that a rule finds, with their positions. */
export function findsIn(rule: GrammarRule, passage: Passage): readonly RegExpExecArray[] {
  const isRead = rule.reads === undefined ? passage.kind !== 'code' : passage.kind === rule.reads
  if (!isRead) return []
  const pattern = patternOf(rule)
  // Most passages have no find, and a search is several times cheaper than `matchAll`.
  return passage.text.search(pattern) === -1 ? [] : [...passage.text.matchAll(pattern)]
}

const patterns = new Map<GrammarRule, RegExp>()

function patternOf(rule: GrammarRule): RegExp {
  let pattern = patterns.get(rule)
  if (pattern === undefined) {
    const { source, flags } = rule.not
    const spaced = rule.reads === 'code' ? source : source.replaceAll(' ', String.raw`\s+`)
    pattern = new RegExp(spaced, `${flags}g`)
    patterns.set(rule, pattern)
  }
  return pattern
}
