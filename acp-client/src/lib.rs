//! The client side of ACP: any agent behind a hub that pages attach to
