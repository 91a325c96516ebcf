// Who the page looks as.

import { h, bdi } from "./dom.js";
import { icon } from "./icons.js";
import { t } from "./i18n.js";
import { state } from "./store.js";
import { user, avatar } from "./directory.js";
import { openList } from "./popup.js";

let choose = () => {};

/** onPerson says what happens when another person is picked. */
export const onPerson = (fn) => (choose = fn);

const role = (u) => t(u.title === "Instructor" ? "instructor" : "learner");

/** personButton opens the list of people; small shows the face alone. */
export function personButton(small = false) {
  const u = user(state.me);
  if (!u) return h("span");
  const name = u.real_name || u.name;
  const text = `${t("youAre")}: ${name} (${role(u)})`;
  const open = (e) => openList(e.currentTarget, {
    label: t("switchPerson"), chosen: new Set([state.me]), align: small ? "end" : "start",
    groups: [{ label: t("switchPerson"), items: state.users.map((x) => ({ label: x.real_name || x.name, note: role(x), value: x.id, lead: avatar(x.id, "small") })) }],
    pick: (item) => choose(item.value),
  });
  return h("button", { class: small ? "person small" : "person", type: "button", "aria-haspopup": "listbox", "aria-expanded": "false", "aria-label": small ? text : null, title: t("switchPerson"), on: { click: open } },
    avatar(u.id, small ? "small" : ""),
    !small && h("span", { class: "person-text" }, h("span", { class: "person-you", text: t("youAre") + ":" }), " ", bdi(`${name.split(" ")[0]} (${role(u)})`, "person-name")),
    !small && icon("chevron", 14));
}
