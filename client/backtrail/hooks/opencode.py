"""OpenCode's events, which its plugin hands on as they are: objects in objects, made one."""

from backtrail.hooks.fields import Payload, part


def flattened(payload: Payload) -> Payload:
    """All fields of an event beside each other; of two with the same name, the outer one counts.

    That a session has nothing to do any more is told in two ways, of which the newer one is a status.
    """
    event = part(payload, "event")
    properties = {**part(payload, "properties"), **part(event, "properties")}
    flat = {**part(properties, "info"), **properties, **event, **payload}
    status = flat.get("status")
    if "session.status" in (flat.get("type"), flat.get("event")):
        kind = status.get("type") if isinstance(status, dict) else status
        flat["type"] = "session.idle" if kind == "idle" else "session.status"
    return flat
