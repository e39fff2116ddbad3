//! The reference client's workshop; today its scripted model server
