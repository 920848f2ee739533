/**
 * Returns the element with this id.
 *
 * @returns {any}
 */
export function byId(id) {
  return document.getElementById(id)
}

/** Makes an element with text or elements in it, never markup. */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value)
  element.append(...children)
  return element
}

/** Changes a text only when it differs, so that screen readers do not repeat it. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text
}

/** Changes an attribute only when it differs. */
export function setAttribute(element, name, value) {
  if (element.getAttribute(name) !== value) element.setAttribute(name, value)
}

/** Shows pairs of a term and its value; terms stay the same between calls. */
export function setFacts(list, facts) {
  if (list.children.length !== facts.length) {
    list.replaceChildren(
      ...facts.map(([term]) => make('div', {}, make('dt', {}, term), make('dd'))),
    )
  }
  for (const [i, [term, value]] of facts.entries()) {
    const [dt, dd] = list.children[i].children
    setText(dt, term)
    setText(dd, value)
  }
}
