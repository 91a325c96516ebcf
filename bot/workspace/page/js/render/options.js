// Options of selects, radio buttons and checkboxes.

/** optionLabel is an option's text without markup. */
export const optionLabel = (o) => String(o?.text?.text ?? o?.text ?? "");

/** groupsOf turns options or option_groups into the list's groups. */
export function groupsOf(el) {
  const item = (o) => ({ label: optionLabel(o), note: o.description?.text, value: o.value, option: o });
  if (el.option_groups) return el.option_groups.map((g) => ({ label: g.label?.text, items: (g.options || []).map(item) }));
  return [{ items: (el.options || []).map(item) }];
}

/** directoryOf lists people or channels for the users and channels selects. */
export function directoryOf(el, dir) {
  if (el.type.includes("users")) return [{ items: dir.people().map((u) => ({ label: u.name, value: u.id })) }];
  return [{ items: dir.channels().map((c) => ({ label: "#" + c.name, value: c.id })) }];
}

/** pickedField is the field of an action and of state that carries the choice. */
export const pickedField = (type) =>
  ({
    static_select: "selected_option", external_select: "selected_option", radio_buttons: "selected_option",
    checkboxes: "selected_options", multi_static_select: "selected_options", multi_external_select: "selected_options",
    users_select: "selected_user", multi_users_select: "selected_users",
    channels_select: "selected_channel", multi_channels_select: "selected_channels",
    conversations_select: "selected_conversation", multi_conversations_select: "selected_conversations",
    datepicker: "selected_date", timepicker: "selected_time", datetimepicker: "selected_date_time",
  })[type] || "value";

const INITIAL = {
  selected_option: "initial_option", selected_options: "initial_options", selected_user: "initial_user", selected_users: "initial_users",
  selected_channel: "initial_channel", selected_channels: "initial_channels", selected_conversation: "initial_conversation",
  selected_conversations: "initial_conversations", selected_date: "initial_date", selected_time: "initial_time",
  selected_date_time: "initial_date_time", value: "initial_value",
};

/** valueOf is the present value: what was chosen, else the initial one. */
export function valueOf(el, state) {
  const field = pickedField(el.type);
  if (state && field in state) return state[field];
  return el[INITIAL[field]] ?? null;
}
