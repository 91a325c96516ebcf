// Keyboard focus inside dialogs.

const CAN = 'a[href],button:not([disabled]),input:not([disabled]),textarea:not([disabled]),[tabindex]:not([tabindex="-1"])';
const stack = [];

/**
 * trap keeps Tab inside the box and calls onEscape; the function it returns
 * ends that and gives the focus back to where it was.
 */
export function trap(box, { onEscape, first }) {
  const before = document.activeElement;
  const me = { box };
  stack.push(me);
  const keys = (e) => {
    if (stack.at(-1) !== me) return;
    if (e.key === "Escape") {
      e.preventDefault();
      onEscape();
    }
    if (e.key !== "Tab") return;
    const all = [...box.querySelectorAll(CAN)].filter((el) => el.offsetParent !== null);
    if (!all.length) return;
    const out = !box.contains(document.activeElement);
    const edge = e.shiftKey ? all[0] : all.at(-1);
    if (out || document.activeElement === edge) {
      e.preventDefault();
      (e.shiftKey ? all.at(-1) : all[0]).focus();
    }
  };
  document.addEventListener("keydown", keys);
  (first || box.querySelector(".modal-body input,.modal-body textarea,.modal-body button,.modal-body [tabindex]") || box.querySelector(CAN))?.focus({ preventScroll: true });
  return () => {
    document.removeEventListener("keydown", keys);
    stack.splice(stack.indexOf(me), 1);
    if (before?.isConnected) before.focus({ preventScroll: true });
  };
}

/** trapped tells whether a dialog has the keyboard. */
export const trapped = () => stack.length > 0;
