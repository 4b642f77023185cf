//! Which meters can be read here?
