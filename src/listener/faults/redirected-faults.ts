import type { ResponseHead } from '../../http/headers.ts'
import { redirectTarget } from '../../http/redirect-target.ts'
import type { Plan } from '../../rules/select/plan.ts'
import { addPlan } from './call-injection.ts'
import type { ExchangeFaults, PlanResponse } from './exchange-faults.ts'

/** Plans the rules about the response's status. */
export function responseBegins(faults: ExchangeFaults, head: ResponseHead): void {
  const { planned, exchange, posted, request, options } = faults
  const plan = planned.planResponse?.(head.status)
  if (plan !== undefined) addPlan(exchange, plan)
  // A rule about the redirect itself acts on it; all others wait for the repeated request.
  else if (posted.length > 0 && redirectTarget(options.exchange.head, head) !== undefined) {
    request.redirect = 'passes'
  }
}

/** Continues with the repeated request. */
export function repeated(
  { planned, exchange, posted, request }: ExchangeFaults,
  plan: Plan | undefined,
  planResponse: PlanResponse | undefined,
  at: number,
): void {
  request.repeat(at)
  planned.planResponse = planResponse
  if (plan !== undefined) addPlan(exchange, plan)
  // The first copies went to the old target.
  for (const own of posted) own.ordered = own.copies
}
