"""The only room that acts: messages become events, events become state, state becomes a verdict, and that is done."""
