//! DCTCP.
